"""Counters of pauses, drops and marks: names of SONiC and of ``ethtool -S``, files, and who paused whom.

A file is a CSV table with the columns ``node``, ``port``, ``class``, ``counter`` and ``value``. ``names`` lists the
counters, ``reading`` reads a file, ``diagnosis`` finds roots and contradictions, and ``command`` prints them.
"""
