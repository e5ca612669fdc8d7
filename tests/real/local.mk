# tests/real: whole jobs on real machines, run by hand.
