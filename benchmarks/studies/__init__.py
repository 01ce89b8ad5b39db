"""The scenarios that compare Penstock with its peers, a file each."""
