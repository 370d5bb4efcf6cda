"""Checks of SONiC configurations: each names switch, port, table, field, value, and the value that would pass."""
