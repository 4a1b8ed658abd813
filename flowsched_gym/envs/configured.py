"""Makes the ``__init__`` of an environment, its signature and the tables of its docstring from a config."""

import inspect
import re
from collections.abc import Callable
from dataclasses import InitVar
from enum import StrEnum
from typing import Any, Concatenate, ParamSpec, TypeVar

from flowsched_gym.core.errors import UnknownArgumentError, listed
from flowsched_gym.envs.arguments import Described, EnvConfig, describe, is_choice, kind_of, types_kept
from flowsched_gym.envs.columns import Column, Layout, table_text
from flowsched_gym.workload import WorkloadLike, read_workload

Env = TypeVar("Env")
Config = TypeVar("Config", bound=EnvConfig)
Arguments = ParamSpec("Arguments")

MYPY = False
"""True to mypy. Pyright takes the last definition of ``configured_by``; jedi the first, and finds the fields inside."""


if not MYPY:

    def configured_by(config, layout=None):
        """Has an ``__init__`` take the arguments of a config.

        What it decorates gets the config, which is the environment's ``config`` already, the source of flows that
        ``source_of`` finds, the render mode and the engine. The decorated one takes the workload first, or by its name,
        and all else by name; its signature lists them, and so does a table at the end of the section ``## Arguments``
        of the class. Where the docstring of the class says ``{columns}``, a table of the columns that are observed
        takes its place; where it says ``{columns: name="value"}``, one of the other columns that there are with this
        argument.

        Args:
            config: Class of the arguments.
            layout: What lists the columns.
        """
        signature = _signature(config)
        known = list(signature.parameters)[1:]
        default = signature.parameters["workload"].default

        def decorate(initialise):
            def __init__(  # noqa: N807 - becomes one
                self: Any,
                /,  # so that an argument that is called so is an unknown one
                workload: WorkloadLike | None = default,
                *,
                render_mode: str | None = None,
                engine: str = "simpy",
                **arguments: Any,
            ) -> None:
                """Sets the spaces; ``ConfigError`` and ``FlowFileError`` tell of bad arguments or flows."""
                for name in arguments:
                    if name not in known:
                        owner = type(self).__name__
                        # In Python's words, by which libraries tell that they may try without it.
                        raise UnknownArgumentError(
                            f"{owner}() got an unexpected keyword argument {name!r}: it has {listed(name, known)}"
                        )
                read = None if workload is None else read_workload(workload)
                self.config = config(workload=read, render_mode=render_mode, engine=engine, **arguments)
                initialise(self, self.config, self.config.source_of(read), render_mode, engine)

            __init__.__qualname__, __init__.__module__ = initialise.__qualname__, initialise.__module__
            __init__.__signature__ = signature
            __init__.complete = lambda document: _with_tables(document, config, layout)
            return __init__

        return decorate

else:

    def configured_by(
        config: Callable[Arguments, Config], layout: Callable[[Config], Layout] | None = None
    ) -> Callable[[Callable[[Env, Config, Any, str | None, str], None]], Callable[Concatenate[Env, Arguments], None]]:
        """As above."""
        raise NotImplementedError


class Documented:
    """A class whose docstring gets the tables that ``configured_by`` makes for its ``__init__``."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        complete = getattr(vars(cls).get("__init__"), "complete", None)
        if complete is not None:
            cls.__doc__ = complete(inspect.cleandoc(cls.__doc__ or ""))


def _with_tables(document: str, config: type[Config], layout: Callable[[Config], Layout] | None) -> str:
    described: list[Column] = []

    def columns(match: re.Match[str]) -> str:
        assert layout is not None
        found = layout(config(**dict(re.findall(r'(\w+)="([^"]*)"', match[0]))))
        table = found.table(described)
        described.extend(found.columns)
        return table

    document = re.sub(r"^\{columns.*\}$", columns, document, flags=re.MULTILINE)
    before, heading, rest = document.partition("## Arguments\n")
    text, mark, others = rest.partition("\n## ")
    rows = [each._replace(name=f"``{each.name}``") for each in describe(config)]
    table = table_text(Described._fields, rows)
    return f"{before.rstrip()}\n\n{heading}{text.rstrip()}\n\n{table}\n{mark}{others}"


def _signature(config: type[EnvConfig]) -> inspect.Signature:
    """Returns the signature of an environment; members are given by their names."""
    parameters = [inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)]
    given, hints = inspect.signature(config).parameters.values(), types_kept(config)
    for each in sorted(given, key=lambda each: isinstance(each.annotation, InitVar)):
        hint = hints[each.name]
        kind, is_optional = kind_of(hint)
        if isinstance(hint, InitVar):
            hint = hint.type
        elif is_choice(kind):
            hint = str | None if is_optional else str
        default = str(each.default) if isinstance(each.default, StrEnum) else each.default
        parameters.append(each.replace(annotation=hint, default=default))
    return inspect.Signature(parameters, return_annotation=None)
