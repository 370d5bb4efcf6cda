"""Conformance: random scenarios with a part of xoff or of a plug-in, and checks that each scenario has to pass.

``xoff conformance NAME`` runs the checks. xoff's own tests draw their scenarios here, too.
"""
