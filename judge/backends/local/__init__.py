"""Models on a machine of one's own: what the judges `hf:` and `vllm:` share."""
