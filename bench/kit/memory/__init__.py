"""`rung bench --memory`: how much memory a program holds over time, and whether Rung holds what it owes."""
