# tests/pssh: the library against a real sshd.
