"""The foragers of Palotai, Farkas and Lőrincz (2005)."""
