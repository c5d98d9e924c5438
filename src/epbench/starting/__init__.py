"""How our scripts are started: where they are and which commands they are (scripts), the words that start this process
again (command_line), arguments from a command line and a YAML file (parser), and what has to be installed besides (extras).

`epbench.cli` is the command itself, and `epbench.command` what each script does at its beginning and its end.
"""
