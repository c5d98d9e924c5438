"""How our scripts are started: where they are and which commands they are (scripts), the words that start this process
again (command_line), what has to be installed besides (extras), and the console on which any text is harmless (safe_console).

`epbench.cli` is the command itself, `epbench.command` what each script does at its beginning and its end, and
`epbench.arguments` what it is told.
"""
