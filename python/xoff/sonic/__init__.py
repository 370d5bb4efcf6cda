"""Switches as SONiC configures them: reading ``config_db.json`` files, checking them, and converting to a scenario.

A folder holds one file a switch. `folder` reads the folder into tables of texts, `switch` resolves the references of
a switch, `fabric` joins the ports of switches, and `checks` names the settings that would lose packets.
"""
