"""The commands: a file for each command or group, with its options and its help.

``registry.py`` lists the commands: a new command is a file and a line there. Every command loads all files of this
folder, so they import slow modules, such as Matplotlib, in the function that needs them. Long work is in the folder of
its topic: ``study/command.py`` runs what ``xoff sweep`` was asked for.
"""
