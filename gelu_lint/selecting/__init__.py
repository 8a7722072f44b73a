"""The parts of the selection of lines, each for one kind of thing that may matter."""
