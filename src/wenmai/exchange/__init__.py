"""Models of other tools.

arpa_files.py    ARPA files become runs, runs become ARPA files
hugging_face.py  folders of checkpoints become runs; families.py: their weights and ours; weights.py: their files;
                 tokenizer_files.py: how they cut texts; hub.py: fetched by their name, once
exporting.py     runs become such folders
onnx_files.py    runs become folders that onnxruntime computes: onnx_graphs.py: what is traced; onnx_tracing.py: traced and
                 written; onnx_network.py: loaded again and compared; onnx_about.py, onnx_examples.py, onnx_readme.py: what lies
                 beside; library_tokenizers.py: our tokenizers as tokenizer.json
"""
