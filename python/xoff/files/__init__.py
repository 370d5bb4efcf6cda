"""Files and directories: tables of a user, foreign files read with care, and new files that are complete or absent."""
