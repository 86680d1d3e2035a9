"""The command `toolstream`, one file a subcommand."""
