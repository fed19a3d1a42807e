"""Every requirement the tests prove, by id, in one line each.

A test names what it proves with ``@pytest.mark.requirement("ID", …)``; ``test_requirements.py`` fails when an id here
has no test, and when a test names an id that is not here. ``000`` to ``004`` are the seed documents, ``P`` the
promises of the design, ``F`` what the foundation adds to both.
"""

from __future__ import annotations

from collections.abc import Mapping

_BASE_AGENT = {
    "000-US1-AS1": "A class with a name, a system prompt, tools and execute() is a working agent.",
    "000-US1-AS2": "execute() returns a result with success, output, metadata, errors and usage.",
    "000-US2-AS1": "query() with a prompt gives an async iterator that yields messages as they stream from Claude.",
    "000-US2-AS2": "Each message can be displayed immediately, without waiting for full completion.",
    "000-US3-AS1": "A registered class is looked up by name.",
    "000-US3-AS2": "A class from the registry is made with its configuration and dependencies.",
    "000-US4-AS1": "The text of an assistant's message can be had without taking it apart.",
    "000-US4-AS2": "What is not text is left out of it.",
    "000-US5-AS1": "A CLI that is not installed is an error that says how to install it.",
    "000-US5-AS2": "A process error during execution is caught, wrapped with context, and in the result's errors.",
    "000-US5-AS3": "A failed execution has success False and meaningful errors, for logging and for the user.",
    "000-EDGE-CLI": "A CLI that is not found raises CLINotFoundError with advice.",
    "000-EDGE-NETWORK": "A network failure or a timeout comes back at once and is not retried.",
    "000-EDGE-TOOL": "An unknown tool is refused when the agent is made.",
    "000-EDGE-MALFORMED": "A malformed response is wrapped in MalformedResponseError with the raw response attached.",
    "000-EDGE-STREAM": "An answer that breaks off is yielded as far as it came, then StreamingError is raised.",
    "000-FR-001": "MaverickAgent is an abstract base class over the Claude Agent SDK.",
    "000-FR-002": "An agent takes name, prompt, tools and model, and refuses tools that do not exist.",
    "000-FR-003": "ClaudeAgentOptions are built with sensible defaults for common settings, such as timeout and max tokens.",
    "000-FR-004": "execute(context) is abstract, async, and returns a result.",
    "000-FR-005": "query(prompt) streams; after a failure in the middle it yields what came, then raises.",
    "000-FR-006": "Text is extracted from assistant's messages by functions.",
    "000-FR-007": "Common failures come as typed errors whose messages say what to do next.",
    "000-FR-008": "A result has success, output, metadata, errors and usage; a failed one has at least one error.",
    "000-FR-009": "A context carries the working folder, the branch and the configuration.",
    "000-FR-010": "Agents are discovered and made by name through a registry.",
    "000-FR-011": "A second agent under a taken name is refused at once.",
    "000-FR-012": "An agent is looked up by name; an unknown name is a typed error.",
    "000-FR-013": "All agent methods that involve I/O are async.",
    "000-FR-014": "Usage has input tokens, output tokens, cost where it is known, and duration.",
    "000-SC-001": "A fully functional agent takes only execute() and a system prompt, and no other boilerplate.",
    "000-SC-002": "A result takes at most 100 ms beyond Claude's response time: its duration less the time spent waiting for the API.",
    "000-SC-003": "The first message is yielded within 500 ms of calling query(), not counting the API's latency.",
    "000-SC-004": "A missing CLI, a failing process and a network failure are reported with advice.",
    "000-SC-005": "The registry makes any registered agent by name, for a caller that does not know the class.",
    "000-SC-006": "Usage is right for every execution, failed and stopped ones included.",
    "000-SC-007": "A concrete agent has nothing in it but its own task; what all agents share is in the base.",
    "001-AGENT": "MaverickAgent in agents/base.py is an abstract class with name, system_prompt, allowed_tools, model and options.",
    "001-AGENT-NAME": "An agent's name is a non-empty string, unique within the registry.",
    "001-AGENT-TOOLS": "An allowed tool is in BUILTIN_TOOLS or is mcp__<server>__<tool>; else construction raises InvalidToolError.",
    "001-AGENT-MODEL": "The model is optional, with a default.",
    "001-AGENT-OPTIONS": "options is the SDK's configuration object, built internally.",
    "001-RESULT": "AgentResult is a frozen dataclass with slots; success, output and usage are required.",
    "001-RESULT-DEFAULTS": "metadata is an empty dict, and errors an empty list of AgentErrors, by default.",
    "001-RESULT-FAILURE-NEEDS-ERROR": "success=False has at least one error in errors, with actionable context.",
    "001-RESULT-OUTPUT-NOT-NONE": "output may be the empty string but not None.",
    "001-RESULT-FACTORIES": "success_result(output, usage, metadata?) and failure_result(errors, usage, metadata?) make results.",
    "001-USAGE": "AgentUsage is a frozen dataclass with slots; all but total_cost_usd, None by default, is required.",
    "001-USAGE-NONNEGATIVE": "Tokens, duration_ms and, if present, total_cost_usd are 0 or more.",
    "001-USAGE-TOTAL": "total_tokens is input_tokens + output_tokens.",
    "001-CONTEXT": "AgentContext is a frozen dataclass with slots: cwd, branch and config are required, extra is {} by default.",
    "001-CONTEXT-CWD-EXISTS": "cwd is an existing directory.",
    "001-CONTEXT-BRANCH": "branch is a non-empty string.",
    "001-CONTEXT-FROM-CWD": "from_cwd(cwd, config?) detects the branch from git.",
    "001-REGISTRY": "AgentRegistry maps names to classes: register, get and list_agents; the application has one at module level.",
    "001-REGISTRY-REGISTER": "register(name, cls) adds a class; @register(name) does it as a decorator.",
    "001-REGISTRY-CREATE": "create(name, **kwargs) makes an agent by name, as cls(**kwargs) does.",
    "001-REGISTRY-DUPLICATE": "register() raises DuplicateAgentError if the name is already registered.",
    "001-REGISTRY-UNKNOWN": "get() raises AgentNotFoundError if the name is not found.",
    "001-ERRORS": "Under MaverickError are WorkflowError, ConfigError and AgentError, and under this the nine errors of agents.",
    "001-ERROR-CLI-NOT-FOUND": "CLINotFoundError has cli_path; _wrap_sdk_error() makes it.",
    "001-ERROR-PROCESS": "ProcessError has exit_code and stderr; _wrap_sdk_error() makes it.",
    "001-ERROR-STREAMING": "StreamingError has partial_messages; query() raises it.",
    "001-ERROR-MALFORMED": "MalformedResponseError has raw_response; _wrap_sdk_error() makes it.",
    "001-ERROR-INVALID-TOOL": "InvalidToolError has tool_name and available_tools; the constructor raises it.",
    "001-ERROR-DUPLICATE": "DuplicateAgentError has agent_name; register() raises it.",
    "001-ERROR-NOT-FOUND": "AgentNotFoundError has agent_name; get() raises it.",
    "001-CONSTANTS": "BUILTIN_TOOLS, sixteen names, DEFAULT_MODEL and DEFAULT_PERMISSION_MODE are in agents/base.py.",
    "001-ALIAS": "AgentMessage in maverick.agents is the SDK's Message.",
}

_CLAUDE_CLI = {
    "CLI-NO-ORPHANS": "Whatever ends a query or this process, the CLI and all it started are gone, and leave nothing.",
    "CLI-PERMISSIONS": "An agent has the tools it is allowed and no others; a mode decides on the rest.",
    "CLI-OUTPUT-TYPE": "An answer can be a value of a Pydantic type.",
    "CLI-LIMITS": "Limits on turns and money end a run, and the result says which.",
    "CLI-FAILURES": "Every failure of the CLI and of the API behind it is an error of ours.",
    "CLI-REUSE": "CLIs are kept from one query to the next, a bounded number of them, without what was said before.",
    "CLI-CONTEXT": "The settings in the context say where Claude is, and with which key to reach it.",
    "CLI-QUIET-END": "A query that is left early, or a program that ends in the middle of one, logs nothing.",
    "CLI-WARM": "With warm=True a CLI is ready before the first prompt and before the first query, and both are gone with the agent, its event loop or its process.",
    "CLASS-RUNS": "Each prompt of a class is a run: kept, resumed by its number, limited, ruled on, and on any model.",
    "CLI-VERBATIM": "A prompt is text: nothing in it makes the CLI read files or run commands.",
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
    "002-R9": "Provider, model, parameters, timeout and key, from files and environment, reach every way to start a run.",
    "002-AC1": "The one-turn interface is defined, with its run method.",
    "002-AC2": "The tool interface is defined: name, description, parameters, execute.",
    "002-AC3": "The response type has content, tool calls, usage and stop reason.",
    "002-AC4": "Message types for user, assistant and tool_result are defined.",
    "002-AC5": "Error types are defined, with an enumeration of kinds.",
    "002-AC6": "The configuration covers model, parameters, timeout and credentials, and they are what is sent.",
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
    "003-OQ2": "Decided: a conversation that outgrows the context window is compacted.",
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

_JOURNAL = {
    "JOURNAL-FENCE": "Whoever was overtaken writes nothing of the run, of its subagents' runs or of its approvals.",
    "JOURNAL-COMMIT": "No SQL of a transactional tool commits its effect without the entry that tells of it.",
    "JOURNAL-SLOW-TOOL": "A slow transactional tool breaks no other call, run or process.",
    "JOURNAL-DAMAGE": "A damaged journal raises typed errors, and what can still be read is read, told and saved.",
}

_FOUNDATION = {
    "F-IMPORT": "Importing the package loads nothing heavy.",
    "F-LAYERS": "The layers are a contract that is checked by machine.",
    "F-TOOL-SCHEMA": "A function's signature and docstring make its schema; arguments are checked before it runs.",
    "F-TOOL-THREAD": "A blocking tool runs off the event loop and does not keep the process alive.",
    "F-TOOL-DEADLINE": "Every tool has a deadline.",
    "F-TOOL-OUTPUT": "A tool's output is capped while it is read.",
    "F-TOOL-SEQUENTIAL": "A sequential tool waits for the calls before it in the turn, and those after it wait for it.",
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

_CLAUDE_CLI_RUNS = {
    "005-RUN": "An agent that names the CLI as its model runs as on any other: turns, events, usage, output.",
    "005-RUN-TOOLS": "Tools of ours are offered to the CLI, and run by the loop, as for every provider.",
    "005-RUN-OWN-TOOLS": "Tools of the CLI are tools of the loop: it decides whether and when they run.",
    "005-RUN-LIMITS": "Every limit ends a run on the CLI, and the model is not asked once more.",
    "005-RUN-APPROVALS": "A person is asked about a call of the CLI, at once or when the run was parked.",
    "005-RUN-JOURNAL": "A run on the CLI is kept, shown, resumed and forked; what is not known is said to be unknown.",
    "005-RUN-FAILURES": "What fails on the CLI is a typed error, and the loop alone tries again.",
}

_AGENT_FILES = {
    "005-DISCOVERY": "Agents are found in files, modules, packages and the registry, the nearest of a name first.",
    "005-MARKDOWN": "A Markdown file with settings at its top is an agent.",
    "005-CLAUDE-FILES": "A Markdown agent for Claude Code is read as it is.",
    "005-READY": "A code reviewer, a commit-message writer, a documentation writer and an issue fixer are ready.",
    "005-BAD-FILES": "What can not be read is named with file, line and setting, and the others still load.",
}

_COMMAND_LINE = {
    "007-RUN": "An agent or a prompt runs in the terminal, is kept, can be stopped, and says how it goes on.",
    "007-RUN-JSON": "Each event of a run is a line of JSON for other programs.",
    "007-RUN-LIMITS": "Limits are options, and the reason why a run ended is its exit code.",
    "007-RUN-MODES": "A person is asked about what they have not allowed.",
    "007-RUN-PROGRESS": "Long work shows a sign of life, on a terminal only.",
    "007-RUN-SCHEMA": "An answer is held to a JSON Schema from a file.",
    "007-RUN-SIGNALS": "A run that is told to end, or loses its terminal, stops, leaves no process, and can go on.",
    "007-RUN-STDIN": "What is piped in is input.",
    "007-AGENTS": "Agents are listed, shown and written from the command line.",
    "007-CONFIG": "Settings are shown with their source, and a file for them is written; keys are never shown.",
    "007-DOCTOR": "What is missing or wrong is found, with the fix for each.",
    "007-COMPLETION": "Shells complete commands, options and agents.",
    "007-ERRORS": "Errors are one helpful line; the trace is shown when asked for.",
}

_CODING = {
    "C-FILES": "Files are read, written, edited by exact replacement with a diff, and listed.",
    "C-CONFINED": "No path, link, race or special file leads a file tool out of its workspace.",
    "C-SEARCH": "Files are searched with ripgrep or without, and a search can be stopped.",
    "C-SHELL": "A command has a deadline, its output is capped and kept, and nothing it started outlives it.",
    "C-SANDBOX": "Commands run in a sandbox without a network; where there is none, a person is asked and told why.",
    "C-FETCH": "Pages of the public web are fetched; private addresses are refused on every hop.",
    "C-PLAN": "An agent can write down a plan.",
    "C-EFFECTS": "Coding tools say honestly what running them again would do.",
    "C-UNTRUSTED": "What tools find is marked as data from elsewhere.",
    "C-PERMISSIONS": "A policy outside of the model decides before a call runs: allow, ask or deny; deny wins.",
    "C-MODES": "The modes plan, ask, accept-edits and yolo decide where no rule speaks.",
    "C-NARROW": "A project's file can take permissions away and never give any.",
    "C-INJECTION": "A model that obeys whatever it reads has no effect outside of the policy.",
    "C-MISBEHAVE": "However a tool misbehaves, its call gets one result, the run goes on, and no process is left.",
}

_CHAT = {
    "004-HISTORY": "A message of the history has role, content, timestamp and perhaps tool calls.",
    "004-CONTEXT": "A context has the user, the conversation and the history.",
    "004-FROM-REQUEST": "A context is made from what a Chat API has.",
    "004-RECORD": "A tool call is recorded with its name, parameters, result and duration.",
    "004-RESULT": "A result has success, response, tool calls and error, and says whether there were tool calls.",
    "004-RUNNER": "A runner is made of a session factory and a tool server, and runs a message in a context.",
    "004-RUN-STEPS": "A run has instructions, tools, history and message, runs tools, and answers in words.",
    "004-TIMEOUT": "A run that takes too long raises a TimeoutError.",
    "004-G-USER": "The user is passed to every tool call.",
    "004-G-CALLS": "At most ten tool calls are made in a run.",
    "004-G-FRIENDLY": "An answer is always for people: no ids, no technical words.",
    "004-EXAMPLE": "The integration example runs.",
    "004-R-CREATED": "The answer when a task was created.",
    "004-R-LIST": "A list is numbered and has boxes.",
    "004-R-COMPLETED": "The answer when a task was completed.",
    "004-R-DELETED": "The answer when a task was deleted.",
    "004-R-UPDATED": "The answer when a task was updated.",
    "004-E-NOT-FOUND": "The answer when no task is like what was asked for.",
    "004-E-AMBIGUOUS": "The question when several tasks are.",
    "004-E-INVALID": "The question when something is missing.",
    "004-E-SYSTEM": "The answer when something is broken.",
    "004-C-DELETE": "A delete is confirmed with 'yes delete'.",
    "004-C-BULK": "A bulk operation is confirmed with a phrase of its own.",
    "004-RECORDING": "Each tool call is recorded for keeping, as the example shows.",
    "004-ISOLATION-INJECTED": "The user of the context is injected into every tool call.",
    "004-ISOLATION-ACCESS": "The agent can not reach another user's tasks.",
    "004-ISOLATION-FILTERED": "What a tool answers is already filtered by user.",
    "004-STATELESS-CONTEXT": "A context can not be changed.",
    "004-STATELESS-RUNS": "Nothing persists between runs.",
    "004-STATELESS-HISTORY": "The history comes from the database with each request.",
    "004-LIMIT-CALLS": "Ten tool calls.",
    "004-LIMIT-TIME": "Thirty seconds.",
    "004-LIMIT-LENGTH": "About 500 characters.",
    "004-Q-IDS": "Never a task's id.",
    "004-Q-JARGON": "Never technical jargon.",
    "004-Q-GRAMMAR": "Sentences that are correct.",
    "004-Q-EMOJI": "Few emoji, and only for good news.",
    "004-ERRORS": "Errors are friendly words in the result.",
    "CHAT-TOOLS": "The task tools take, do and answer what they say, and refuse the rest with a question.",
    "CHAT-MATCHING": "Tasks are found by the likeness of their titles, never by an id.",
    "CHAT-UNDO": "The last change can be undone, and the one before it, and so on.",
    "CHAT-TRUTH": "What a reply says of the tasks is what is stored, whatever the model says.",
    "CHAT-KEYED": "A call that is made again under its key acts once.",
    "CHAT-CONFIRM": "A confirmation is for one action on certain tasks, once, and not for long.",
    "CHAT-ISOLATION": "A model that tries everything reaches nothing that is not its user's.",
    "CHAT-RLS": "Postgres itself keeps each user's rows to that user.",
    "CHAT-MANY-USERS": "A hundred users talk at once to one runner.",
    "CHAT-MIGRATIONS": "Numbered migrations make the tables the program uses.",
    "CHAT-UNDERSTANDING": "The offline model understands nine in ten sentences it was not written against.",
    "CHAT-NO-WRONG-CHANGE": "The offline assistant changes only what was asked for: a question changes nothing, a doubt is asked back.",
    "CHAT-MCP-SERVER": "The official MCP client uses the task server over stdio and HTTP, as its own user only.",
    "CHAT-MCP-CLIENT": "Tools of other MCP servers are tools of an agent, and a server that dies harms no one.",
}

_SERVER = {
    "SERVER-SIGN-IN": "Users sign in with a password that is kept as a hash, and guessing is slow.",
    "SERVER-LOCAL": "On one's own machine the printed address signs in, once, from there alone, and with the tasks of the chat.",
    "SERVER-TOKENS": "A token is good for one issuer, one audience, one algorithm and some time.",
    "SERVER-OIDC": "Tokens of a sign-in service are verified with the keys it publishes.",
    "SERVER-CHAT": "A message is answered, in a conversation that is kept.",
    "SERVER-ONE-WRITER": "While a conversation is being answered, nobody else writes into it.",
    "SERVER-IDEMPOTENT": "A request that is sent again with its key acts once.",
    "SERVER-REWIND": "An earlier message can be edited and sent again.",
    "SERVER-STREAM": "A client that comes back to a stream misses nothing and sees nothing twice.",
    "SERVER-DISCONNECT": "Leaving a stream does not stop the answer.",
    "SERVER-STOP": "An answer that is stopped keeps what there is of it.",
    "SERVER-REVIVE": "An answer whose process is gone is made by the next one.",
    "SERVER-FLEET": "Workers of a fleet make the answers: one is finished, once, whichever server or worker is killed.",
    "SERVER-APPROVALS": "What the user has to confirm is listed, and confirmed or denied once.",
    "SERVER-AGENTS": "Any agent is served: with its inputs and output, its tools and their approvals, and its history.",
    "SERVER-CONVERSATIONS": "Conversations are listed, read, renamed, exported and deleted.",
    "SERVER-TASKS": "Tasks are added, read, changed and deleted, and the last change is undone.",
    "SERVER-UPDATES": "Every page of a user hears of what changes.",
    "SERVER-LIMITS": "Each user has limits on requests, streams, answers and spending.",
    "SERVER-ISOLATION": "No route gives or changes anything of another user.",
    "SERVER-BAD-REQUESTS": "A request that is not as it should be gets a clear refusal.",
    "SERVER-SCHEMA": "Nothing that the OpenAPI document allows, or does not, makes the server fail.",
    "SERVER-OPERATIONS": "Health, readiness and metrics are there for those who run the server.",
    "SERVER-AG-UI": "AG-UI clients read an answer to its end, tool calls and approvals included.",
    "SERVER-AI-SDK": "The AI SDK reads an answer to its end, tool calls and approvals included.",
    "SERVER-PAGE": "The page holds a conversation: with confirmation, stop, reload, two tabs and undo.",
    "SERVER-SAFE-PAGE": "Nothing a model writes can run or be fetched, and nothing comes from elsewhere.",
    "SERVER-ACCESSIBLE": "The page has no serious accessibility problem.",
    "SERVER-COMMAND": "One command serves it all, and survives being killed.",
    "SERVER-GUESSING": "One address locks nobody out, and the right password is good from any other.",
    "SERVER-SIGN-OUT": "A token is good no more after signing out, and the page forgets all it knew.",
    "SERVER-OTHER-SITES": "Another site can sign nobody in or out, and reaches the server by no name of its own.",
    "SERVER-SLOW-CLIENTS": "Requests that are never finished are dropped, and keep nobody else out.",
    "SERVER-BUSYWORK": "No message keeps the server busy for long.",
    "SERVER-OVERLOAD": "What can not be served soon is refused at once, with the time to come back.",
    "SERVER-FAILURES": "Why there is no answer is in the log in full, and on the page in plain words.",
    "SERVER-DELETION": "A user is deleted as a whole: account, tokens, tasks, conversations, answers and runs.",
}

_FLEET = {
    "FLEET-WATCH": "Whoever watches a run in a fleet sees its events and its words while they are said, each once.",
    "FLEET-CURSOR": "A watcher goes on from its cursor in any process, without a gap and without a repetition.",
    "FLEET-RESULT": "The result of a run in a fleet is that of the executor, wherever it was driven.",
    "FLEET-FORK": "A run of a fleet is forked there: with what it had before a turn, for its own user, once.",
    "FLEET-START": "A run that is asked for again with its id is started once.",
}

_SCREEN = {
    "007-ACP": "An editor uses an agent by the Agent Client Protocol: its sessions are journaled runs, asked about as elsewhere.",
    "007-TUI": "One screen has agents and runs, and a live conversation, in 80 by 24 characters and more.",
    "007-TUI-MODEL": "What is shown is made of the events alone, by plain Python.",
    "007-TUI-STREAM": "A hundred thousand streamed pieces are shown without falling behind, and none is lost.",
    "007-TUI-FOLD": "A tool call folds into a line and unfolds into arguments, result, outcome and duration.",
    "007-TUI-DIFF": "Differences are coloured, and not folded away.",
    "007-TUI-APPROVAL": "A person sees all of a tool call before they decide, for live runs and for parked ones.",
    "007-TUI-GAUGE": "A gauge shows how full the context is and what of the budget is used.",
    "007-TUI-SEARCH": "The conversation can be searched, what is folded included.",
    "007-TUI-FORK": "A run is forked from the turn at the cursor, with other words.",
    "007-TUI-STOP": "A run is stopped with what there is of its answer, and resumed.",
    "007-TUI-LARGE": "A journal with very long prompts and conversations is as quick to look at as any other.",
    "007-TUI-KEYS": "Every key does what the help says, and the help has every key.",
    "007-TUI-SAFE": "Nothing a model or a tool says reaches the terminal as a command.",
    "007-TUI-ERRORS": "Errors are shown in the screen, never as a traceback over it.",
    "007-TUI-OFFLINE": "Without a key the offline model answers, and the screen says so.",
    "007-TUI-MARKDOWN": "Answers are shown as the Markdown they are, section by section as each is whole.",
    "007-TUI-SIGNALS": "A screen that is told to end, or loses its terminal, leaves its run resumable and no process.",
    "007-TUI-TERMINAL": "In a real terminal an agent is run, its tool approved, the run stopped and resumed.",
}

_PROCESSES = {
    "PROC-TOOL": "A program that a tool runs through its context ends with the call, the run and the process.",
}

_CANARY = {
    "P9-CANARY": "A secret that is planted in environment, settings and headers is seen nowhere after the suite.",
}

_TRUST = {
    "TRUST-SETTINGS": "A project decides where data goes only after its user has trusted its file as it is.",
    "TRUST-MCP": "A project's MCP servers are started only after its user has trusted the file that defines them.",
    "TRUST-PERMISSIONS": "A project's permissions allow something only if trusted; what they take away always holds.",
    "TRUST-CODE": "Agents and modules of a project are found only after its user has trusted the folder.",
    "MCP-OAUTH": "A sign-in to an MCP server is the user's own, kept to them, refreshed, and goes nowhere else.",
    "MEMORY-CONFINED": "An agent's memory stays in its folder, within bounds, and each user has their own.",
    "MEMORY-PREFIX": "Notes come into a conversation only as results of calls; the prompt stays as it is.",
    "MCP-PROMPTS": "Prompts of an MCP server are commands that a person writes; resources are read as untrusted content.",
    "MCP-ELICITATION": "An MCP server asks the user only where its settings allow it, and gets only what fits.",
    "MCP-SAMPLING": "An MCP server asks the model only where its settings allow it, and a person agrees to what is said.",
    "MCP-TASKS": "A call that an MCP server answers with a task ends with the task; a call that is stopped cancels it.",
    "SKILL-DISCLOSURE": "A model is told the names and descriptions of skills, and the rest only when it asks.",
    "SKILL-FORMAT": "A skill follows the rules of the open format; one that does not is left out and named.",
    "SKILL-TRUST": "Skills and instructions of a project count after its user has trusted it, and show nothing outside of it.",
    "SKILL-RESUME": "A run keeps the instructions it began with, and can be resumed after they have changed.",
    "SKILL-SCRIPTS": "Scripts of a skill run as any command does: under the permissions, in the sandbox.",
    "TRUST-COMMAND": "Trust is asked for in a terminal, given by command or variable, listed, and taken back.",
    "KEY-OWNER": "A key and an address are used for the provider they were set for, and for no other.",
    "MODELS-CATALOG": "What models cost and take, and when they are retired, is known for all vendors; nothing is guessed.",
    "MODEL-SETTINGS": "Settings of a model hold for requests: command line, definition, client, environment, files, default.",
    "WHO-ANSWERS": "The model a definition names answers; else the client's own; else the one in the settings.",
}

_MCP = {
    "MCP-CONFIG": "Servers are named in settings, with secrets from the environment only, and agents name them.",
    "MCP-CONSENT": "A project starts no server before it is trusted, with its file as it was shown.",
    "MCP-QUARANTINE": "Tools whose descriptions have changed are kept from agents until they are accepted.",
    "MCP-LIFETIME": "Servers start together, end with the command whatever ends it, and leave no process.",
    "MCP-HTTP": "A server at a URL is reached over streamable HTTP, with headers from the environment.",
}

_START = {
    "CLI-START": "A command loads only what it needs, so that it starts at once.",
}

_TRACES = {
    "007-OTEL-SPANS": "A run is a span by the GenAI conventions, with its model calls and tool calls in it.",
    "007-OTEL-METRICS": "Tokens, durations and money are measured by the GenAI conventions.",
    "007-OTEL-INSIDE": "What a tool does is traced inside its call, in a thread too.",
    "007-OTEL-PIPELINE": "Samplers, limits and span processors of the process are honoured.",
    "007-OTEL-SOON": "What has happened is told while the run goes on.",
}

_TIME = {
    "F-EXAMPLES": "Each example runs offline, and does what it is there to show.",
    "F-COOKBOOK": "The recipes of the cookbook run, and print what they say.",
    "F-TWINS": "No example is more than a tenth longer than the same program on pydantic-ai, and the comparison says what is so.",
    "F-CLOCK": "A run's time is what has really passed, however the computer's clock is set meanwhile.",
    "F-REQUEST-TIME": "The time of a model call counts from when it is sent; queueing for it is the run's time.",
}

_MET_BY_USERS = {
    "CHAT-FORGETTING": "What was heard is remembered while it could be sent again, and as long as its conversation.",
    "MCP-TUI": "Agents on the screen get the MCP servers it was started with; the person is asked before it opens.",
    "MCP-SHOWN": "Settings and doctor tell of MCP servers: where from, whether they could be used, and no secret.",
}

_DISTRIBUTION = {
    "DIST-WHEEL": "The wheel works without the repository: the command, the page, prices, and types for type checkers.",
    "DIST-TOUR": "What the README shows works with the built wheel, without the repository.",
    "DIST-EXTRAS": "Whatever needs an extra that is not installed says how to install it, and nothing else.",
    "DOCS-SITE": "Every page is on the site with a line on what it is about, and every link leads somewhere.",
    "DOCS-REFERENCE": "Every public name, and each of its members, is documented.",
    "PLATFORM-IMPORT": "What Windows does not have is needed by nothing but what says so: agents run without it.",
}

_MACHINE = {
    "MACHINE-BARE": "With Python, git and make alone the suite passes: tests that need another program are skipped.",
    "MACHINE-SKIPS": "A test run says in a line what was skipped for want of a program, and how to install it.",
}

_ATTACKS_ON_RUNS = {
    "ATTACK-RESUMED-CALLS": "Calls under way at a crash are ruled on by the permissions a run is resumed with.",
    "ATTACK-MANY-CALLS": "However many calls an answer has, a bounded number runs, and work grows no faster than they.",
    "ATTACK-CHANGED-TOOL": "A tool's effect, approval, access and hints are pinned; a change is named.",
    "ATTACK-MARKS": "However a conversation is cut or compacted, what others wrote stays marked as theirs.",
}

_HOSTILE_WORKSPACES = {
    "ATTACK-PROGRAMS": "No helper program is taken from where an agent can write, and none is given a secret.",
    "ATTACK-INTERPRETER": "What is executed by itself is read-only in the sandbox and asked about in file tools.",
    "ATTACK-GIT": "No setting of a repository starts anything when its changes are looked at.",
    "ATTACK-BLOCKING": "A tool that blocks the event loop is named while it does; one in a process is ended in time.",
    "ATTACK-SET-ID": "No command in the sandbox leaves a file that lends its owner's rights.",
}

_ERRORS = {
    "ERR-TEACH": "A typical mistake is met with an error that names the cause and the fix, in our own words.",
    "ERR-TRACEBACKS": "Code of the user's that fails leaves its traceback in standard logging, without what was said.",
    "ERR-SESSIONS": "An executor that no one closes leaves no session open, whether its program ends or is interrupted.",
}

_EVALS = {
    "EVAL-CHECKS": "Checks on answers, tool calls, turns, cost and endings, and the user's own, say yes, no, or why neither.",
    "EVAL-JUDGE": "A judge's verdict is typed; one that gives none is an error of the check, and not a pass.",
    "EVAL-RUN": "Cases run many at once, bounded, each a journaled run; a report names what failed and in which run.",
    "EVAL-REPEAT": "Cases are repeated, and pass when enough of the repetitions do.",
    "EVAL-BUDGET": "A budget holds for an evaluation as a whole, judges included.",
    "EVAL-STOP": "An evaluation that is stopped reports what was done.",
    "EVAL-RECORDED": "Recorded runs are cases: checked without a model, or forked from their last turn.",
    "EVAL-COMPARE": "An evaluation is compared with the last one, and what got worse is named.",
    "EVAL-INPUT": "What is wrong with cases is found before a model is asked; errors in files name the line and field.",
    "EVAL-TRUST": "Code and agents that a file of cases names are loaded only in a folder that the user has trusted.",
}

_HOOKS = {
    "H-HOOKS": "Hooks are asked before and after each model call and tool call, and cost nothing where there are none.",
    "H-HOOKS-MODEL": "A hook adds words to the conversation or replaces messages of it; what was sent before stays the same.",
    "H-HOOKS-TOOL": "A hook changes the arguments of a tool call, or refuses it; permissions and people see what it has set.",
    "H-HOOKS-RESULT": "A hook changes or withholds a tool's result before it is recorded.",
    "H-HOOKS-REFUSE": "A hook that refuses a model call or its answer ends the run, with an error that names it.",
    "H-HOOKS-SUBAGENTS": "Subagents have the hooks of their executor; the context tells their path.",
    "H-HOOKS-DURABLE": "After a crash, in a replay and in a fork, the decisions of hooks are the recorded ones.",
    "H-VALIDATORS": "An output's validators see the run's context, change an output or have the model asked again, within its repairs.",
    "H-JSON-SCHEMA": "A JSON Schema is the type of an output, whose values are dicts that fit it.",
    "H-PARTIAL": "While a typed output streams, what is valid of it so far is an event, each time it changes.",
    "H-HOOKS-FAIL": "A hook that fails, or that is misspelt, is an error that names it, and never passed over in silence.",
}

REQUIREMENTS: Mapping[str, str] = (
    _BASE_AGENT
    | _CLAUDE_CLI
    | _CLAUDE_CLI_RUNS
    | _AGENT_INTERFACE
    | _AGENT_CORE
    | _PROMISES
    | _JOURNAL
    | _FOUNDATION
    | _AGENT_FILES
    | _COMMAND_LINE
    | _CODING
    | _SCREEN
    | _CHAT
    | _SERVER
    | _FLEET
    | _PROCESSES
    | _CANARY
    | _TRUST
    | _MCP
    | _START
    | _TRACES
    | _MET_BY_USERS
    | _TIME
    | _DISTRIBUTION
    | _MACHINE
    | _ATTACKS_ON_RUNS
    | _HOSTILE_WORKSPACES
    | _ERRORS
    | _EVALS
    | _HOOKS
)
"""What each id stands for."""
