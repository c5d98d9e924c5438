"""What our scripts are told: a flag is a field of a dataclass (declaring), whose value comes from the command line or from a
YAML file (config_file). The groups of flags that several scripts share are dataclasses, too (options).
"""
