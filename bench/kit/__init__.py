"""What `rung bench` is made of: who is compared, under which workloads, how it is measured, and how it is shown."""
