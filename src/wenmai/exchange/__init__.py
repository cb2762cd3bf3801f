"""Models of other tools.

arpa_files.py    ARPA files become runs, runs become ARPA files
hugging_face.py  folders of checkpoints become runs; families.py: their weights and ours; weights.py: their files;
                 tokenizer_files.py: how they cut texts; hub.py: fetched by their name, once
exporting.py     runs become such folders
"""
