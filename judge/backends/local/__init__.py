"""Models on a machine of one's own: what the judges `hf:` and `vllm:` share.

Both send the same token ids, which `encode` makes, and call a model by the same name, which
`files` finds out.
"""
