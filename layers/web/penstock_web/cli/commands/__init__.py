"""The commands of `penstock` (docs/reference/command_line.md). MODULES in the parent package lists the modules."""
