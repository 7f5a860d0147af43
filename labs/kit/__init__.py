"""What every lab is made of: its definition, the programs it runs, and the ways its outcome is shown."""
