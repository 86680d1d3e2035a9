"""The command `toolstream`: one file for each subcommand."""
