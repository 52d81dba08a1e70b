"""How far judges agree with readers: runs of both, joined study by study."""
