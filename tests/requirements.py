"""Every requirement the tests prove, by id, in one line each.

A test names what it proves with ``@pytest.mark.requirement("ID", …)``; ``test_requirements.py`` fails when an id here
has no test, and when a test names an id that is not here. ``000`` to ``003`` are the seed documents, ``P`` the
promises of the design, ``F`` what the foundation adds to both.
"""

from __future__ import annotations

from collections.abc import Mapping

_BASE_AGENT = {
    "000-FR-007": "Common failures come as typed errors whose messages say what to do next.",
    "000-FR-008": "A result has success, output, metadata, errors and usage; a failed one has at least one error.",
    "000-FR-009": "A context carries the working folder, the branch and the configuration.",
    "000-FR-010": "Agents are discovered and made by name through a registry.",
    "000-FR-011": "A second agent under a taken name is refused at once.",
    "000-FR-012": "An agent is looked up by name; an unknown name is a typed error.",
    "000-FR-014": "Usage has input tokens, output tokens, cost where it is known, and duration.",
    "000-SC-005": "A registered agent can be made by a caller that knows nothing but its name.",
    "001-ERRORS": "One error tree, with the fields the data model lists.",
    "001-REGISTRY": "The registry has register (call and decorator), get, list_agents and create.",
    "001-RESULT": "A result is frozen, has slots, and is made by success_result and failure_result.",
    "001-USAGE": "Usage figures are never negative, and total_tokens is their sum.",
}

_AGENT_INTERFACE = {
    "002-R1": "One call sends a request and returns its response; the caller keeps the conversation.",
    "002-R1-CONFIG": "A request may override max_tokens and temperature; 0 and -1 leave them to the client.",
    "002-R2": "A tool has a name, a description, a JSON Schema of its parameters, and execute.",
    "002-R3": "A response has the content, the tool calls, the usage and why it stopped.",
    "002-R3-STOP": "The stop reasons complete, tool_use and max_tokens have these spellings.",
    "002-R4": "The loop keeps the history: each call to the model has the whole conversation.",
    "002-R4-SEND": "At the start, and when tool results are ready, the model is called.",
    "002-R4-TOOLS": "A response with tool calls has each of them run and its result collected.",
    "002-R4-COMPLETE": "A complete response without tool calls ends the run with it.",
    "002-R4-ERROR": "A model that fails ends the run with its error.",
    "002-R4-TIMEOUT": "A run out of time ends with a timeout error.",
    "002-R4-ROLES": "Messages are from the user, the assistant or a tool; a tool's names the call it answers.",
    "002-R5": "The Claude client translates requests, tools and responses, streams, and names transient errors.",
    "002-R6": "Timeouts and cancellation reach whatever is being waited for, and it ends promptly.",
    "002-R7": "Tokens are counted for each model call and added up over all of them.",
    "002-R8": "An error tells its kind, a message and its cause.",
    "002-R8-KINDS": "The kinds are agent, tool, timeout, rate_limit, network and invalid.",
    "002-R8-RETRY": "What an error is decides whether, and after what wait, the call is tried again.",
    "002-R9": "Configuration has provider, model, parameters, timeouts and key, from file and environment.",
    "002-AC1": "The one-turn interface is defined, with its run method.",
    "002-AC2": "The tool interface is defined: name, description, parameters, execute.",
    "002-AC3": "The response type has content, tool calls, usage and stop reason.",
    "002-AC4": "Message types for user, assistant and tool_result are defined.",
    "002-AC5": "Error types are defined, with an enumeration of kinds.",
    "002-AC6": "The configuration covers model, parameters, timeout and credentials.",
    "002-AC7": "The states send, tool execution, complete, error and timeout are those of the loop.",
    "002-AC8": "Token counts exist per invocation and in total.",
    "002-AC9": "The Claude client translates, streams, and leaves retries to the caller's one place for them.",
    "002-AC10": "Everything that waits can be cancelled.",
}

_AGENT_CORE = {
    "003-G1": "The loop handles interactions of many turns.",
    "003-G2": "Limits on turns and time are configurable.",
    "003-G3": "Events tell what happens while it happens.",
    "003-G4": "Structured output is validated against a schema.",
    "003-G5": "An agent can call another.",
    "003-FR1": "A definition has name, description, and prompt, model, run, tool, input and output configs.",
    "003-FR1-AC1": "Agents are defined as typed values, generic in the type of their output.",
    "003-FR1-AC2": "All configuration is checked when the definition is made; an error names the field.",
    "003-FR1-AC3": "${variable} is replaced in the system prompt and the first messages.",
    "003-FR2": "The loop calls the model, runs the tools it asks for, and ends with its last content.",
    "003-FR2-AC1": "The run ends after max_turns.",
    "003-FR2-AC2": "The run ends after timeout_ms.",
    "003-FR2-AC3": "An abort signal stops the run.",
    "003-FR2-AC4": "The tool calls of a turn run in parallel.",
    "003-FR2-AC5": "Messages accumulate in the order they were said.",
    "003-FR3": "The seven events carry the fields and the type strings of the specification.",
    "003-FR3-AC1": "Events come in the order of what they tell.",
    "003-FR3-AC2": "Every tool call has a start and an end event.",
    "003-FR3-AC3": "Errors are told as events.",
    "003-FR3-AC4": "Content is streamed in chunks.",
    "003-FR4": "The registry has register, get, get_all and unregister for definitions.",
    "003-FR4-AC1": "A duplicate name is an error.",
    "003-FR4-AC2": "Lookup by name does not depend on how many agents there are.",
    "003-FR4-AC3": "There is one registry for an application, and a test can make its own.",
    "003-FR5": "An output config has a name and a schema.",
    "003-FR5-AC1": "Valid output is returned as a value of the declared type.",
    "003-FR5-AC2": "Invalid output comes back raw, with a flag.",
    "003-FR5-AC3": "Whatever the model answers, validation does not raise.",
    "003-NFR1-OVERHEAD": "A turn costs far less than 100 ms of our own.",
    "003-NFR1-PARALLEL": "Independent tools run at the same time.",
    "003-NFR1-MEMORY": "A typical session stays below 500 MB.",
    "003-NFR2-ERRORS": "Errors of the model's service end in a result, not in a crash.",
    "003-NFR2-RETRY": "Retries wait exponentially longer.",
    "003-NFR2-INTENT": "What is about to be done is told before it is done.",
    "003-NFR3-LOGS": "Events are logged as structured lines.",
    "003-NFR3-METRICS": "Turn count, token usage and duration are measured.",
    "003-NFR3-TRACE": "A trace id ties together all that happens for one request.",
    "003-ERR-LLM": "A failing model call is retried up to three times, then the run fails.",
    "003-ERR-TOOL": "A failing tool is captured in its result, and the loop goes on.",
    "003-ERR-VALIDATION": "Output that fails validation is returned raw and flagged.",
    "003-ERR-TIMEOUT": "A timeout ends the run at once, with the partial result.",
    "003-DATA-FLOW": "Inputs are put into the prompt, and the result has output, messages and metrics.",
    "003-API-EXECUTOR": "The executor takes a client and a tool registry, and inputs, signal and on_activity.",
    "003-API-RESULT": "The result has the fields of the API reference.",
    "003-OQ1": "Decided: an agent may call agents, as deep as a bound allows.",
    "003-OQ2": "Decided: a conversation that outgrows the context window is condensed.",
    "003-OQ3": "Decided: the entries fed to the loop are its checkpoint; replayed, they give the same state.",
}

_PROMISES = {
    "P1": "A run killed at any instant goes on from its journal.",
    "P2": "Every tool call has a stable idempotency key of its own: run/turn/index.",
    "P3": "Every tool call gets exactly one result, and the history is always valid.",
    "P4": "Abort and timeout end a run within a second, with partial text, usage, and no task left.",
    "P5": "Budgets are conserved: what is reserved is never exceeded, and children draw on their parent's.",
    "P6": "The user is no tool argument: tools are told, the model is not.",
    "P7": "An approval is kept by the server, used once, and bound to what was asked.",
    "P8": "Errors are typed and actionable; nothing raw reaches a caller.",
    "P9": "What was said is in no log.",
    "P10": "A run is resumed only by the agent it was made with; a difference is named.",
}

_FOUNDATION = {
    "F-IMPORT": "Importing the package loads nothing heavy.",
    "F-LAYERS": "The layers are a contract that is checked by machine.",
    "F-TOOL-SCHEMA": "A function's signature and docstring make its schema; arguments are checked before it runs.",
    "F-TOOL-THREAD": "A blocking tool runs off the event loop and does not keep the process alive.",
    "F-TOOL-DEADLINE": "Every tool has a deadline.",
    "F-TOOL-OUTPUT": "A tool's output is capped while it is read.",
    "F-TOOL-BOUND": "No more tools run at once than the definition allows.",
    "F-APPROVAL": "A tool that needs approval runs only when a person agrees.",
    "F-LIMITS": "Tokens, money and tool calls are limited as well as turns and time.",
    "F-STOP": "An answer that is cut off, refused or paused is handled as such.",
    "F-CONCURRENT": "A thousand runs go on at once in one process.",
    "F-SYNC": "A script without asyncio can run an agent.",
    "F-STREAM": "Events can be iterated; leaving the loop stops the run.",
    "F-LISTENER": "A listener that fails is logged and harms nothing.",
    "F-HISTORY": "A conversation grows in constant time, and a request once made never changes.",
    "F-API": "The shapes of the public interface run as they are written down.",
}

REQUIREMENTS: Mapping[str, str] = _BASE_AGENT | _AGENT_INTERFACE | _AGENT_CORE | _PROMISES | _FOUNDATION
"""What each id stands for."""
