"""`judge completion SHELL`: completion by the Tab key."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

_SHELLS = ("bash", "zsh", "fish")


@click.command("completion", short_help="Complete commands and options by the Tab key.")
@click.argument("shell", type=click.Choice(_SHELLS))
@click.pass_context
def command(ctx: click.Context, shell: str) -> None:
    """Print what makes SHELL complete judge's commands and options.

    Shells read it from these files; a folder that is not there has to be made first.

    \b
    bash:
      mkdir -p ~/.local/share/bash-completion/completions
      judge completion bash > ~/.local/share/bash-completion/completions/judge
    zsh (a folder of your fpath):
      mkdir -p ~/.zfunc
      judge completion zsh > ~/.zfunc/_judge
    fish:
      mkdir -p ~/.config/fish/completions
      judge completion fish > ~/.config/fish/completions/judge.fish
    """
    kind = get_completion_class(shell)
    if kind is None:  # click knows the shells that it lists
        raise click.UsageError(f"no completion for {shell}")
    root = ctx.find_root().command
    click.echo(kind(root, {}, "judge", "_JUDGE_COMPLETE").source())
