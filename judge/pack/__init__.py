"""Evidence packs: what the figures of a run rest on, in one PDF and one zip (extra `pack`).

`studies` is the table that a pack takes along, from which its figures can be computed again;
`facts` and `checklists` fill reporting checklists in; `report` is the content of the PDF, as
`blocks` that `pdf` sets; `contents` has all files; `archive` writes and reads the zip;
`verification` checks it.
"""
