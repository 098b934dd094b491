"""What each error code means, why it exists, and what to do: the texts behind `autopilot explain CODE`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Entry:
    """One code's explanation."""

    what: str
    why: str
    fix: str


CATALOGUE: Mapping[str, Entry] = {
    "AP100": Entry(
        "Autopilot itself has a bug: something happened that its code did not foresee.",
        "The message names a report file with the full traceback; what the journal acknowledged before is saved.",
        "Go on with `autopilot`, and send the report. `--debug` prints the traceback.",
    ),
    "AP101": Entry(
        "A durable write failed: the disk is full, read-only, broken, or the folder is not yours.",
        "A run that can't record what it did must not go on: its next start would do things twice.",
        "Free space or repair the permissions, then `autopilot resume`. Everything acknowledged before is there.",
    ),
    "AP102": Entry(
        "A record in the middle of the journal does not hold: its hash, its order or its patch is wrong.",
        "The journal is the authority of a run. Skipping a damaged record would silently invent a state.",
        "Restore journal.jsonl from a backup, or start over with `autopilot run --fresh`. `autopilot state verify` shows the place.",
    ),
    "AP103": Entry(
        "A change of the state did not begin with what its writer believed.",
        "Every patch is a compare-and-swap, so that two writers can never overwrite each other. This is a bug of ours.",
        "`autopilot resume` reads the journal anew; send the report.",
    ),
    "AP104": Entry(
        "The state is not what a writer believed when it wrote its change; the change was refused whole.",
        "Something else changed the state in between, or an edited state.json was believed. Nothing was written.",
        "`autopilot state verify`, then `autopilot resume`.",
    ),
    "AP105": Entry(
        "A patch holds an operation that a journal never uses.",
        "Only test, add, replace and remove can be undone and folded exactly.",
        "If somebody wrote the journal by hand, restore it; otherwise send the report.",
    ),
    "AP106": Entry(
        "The journal refused a record before, and so takes no more in this process.",
        "After a failed write nobody knows what is on the disk; only reading it anew tells.",
        "`autopilot resume`: opening the journal cuts off what was never acknowledged.",
    ),
    "AP107": Entry(
        "An artifact of the run (a plan, an answer, a log) is missing or was changed.",
        "Artifacts are named by their hash in the journal; another content is not what the run saw.",
        "Restore the file below .autopilot/runs/RUN/artifacts, or `autopilot run --fresh`.",
    ),
    "AP108": Entry(
        "A record is larger than the journal takes (4 MB).",
        "Nothing that large belongs into a record: big values are artifacts by reference.",
        "Split the phase that made it; if the phase is small, send the report.",
    ),
    "AP109": Entry(
        "A run folder has no journal, or lost it.",
        "state.json is only a projection: without the journal there is no evidence of what happened.",
        "Restore journal.jsonl from a backup, name another run, or start over with `autopilot run --fresh`.",
    ),
    "AP110": Entry(
        "The lock of the repository can't be opened or taken on this file system.",
        "Without a lock two runs could write to one repository. Some network file systems have none.",
        "Check that you may write to the git directory, or move the repository to a local disk.",
    ),
    "AP111": Entry(
        "This run was written by a newer version of Autopilot.",
        "Reading a format half-understood would lose what the newer version wrote.",
        "Upgrade Autopilot, or start over with `autopilot run --fresh`.",
    ),
    "AP112": Entry(
        "The journal of a run can't be read.",
        "It belongs to another user, or the disk fails.",
        "Give this user access to the file, or restore it from a backup.",
    ),
    "AP200": Entry(
        "A roadmap can't be opened.",
        "It is missing, a folder, a device, or not yours to read.",
        "Name a readable file: `autopilot run ROADMAP.md`.",
    ),
    "AP201": Entry(
        "A roadmap is not UTF-8 text.",
        "Another encoding, or NUL bytes, would be read as something that nobody wrote. A byte order mark and CRLF are fine.",
        "Save it as UTF-8.",
    ),
    "AP202": Entry(
        "A roadmap is larger, or has more phases, than the documented limit.",
        "Nothing is unbounded, and a roadmap of that size is most likely the wrong file.",
        "Split it into several roadmaps.",
    ),
    "AP203": Entry(
        "The syntax of a roadmap is wrong; file and line are told.",
        "A run that begins with it would fail later, after money was spent.",
        "Correct the roadmap at that line.",
    ),
    "AP204": Entry(
        "An unknown key or label in a roadmap.",
        "A misspelt key that is silently ignored is worse than an error.",
        "Use the nearest key that the message names.",
    ),
    "AP205": Entry(
        "A value in a roadmap is not of the kind that its field takes.",
        "Guessing what was meant would run something else than you wrote.",
        "The message names file, line and field, and what is expected there.",
    ),
    "AP206": Entry(
        "A phase's id is none.",
        "Ids look like 20 or 6.1.",
        "Correct the id.",
    ),
    "AP207": Entry(
        "Two phases or keys have one name.",
        "The second would silently replace the first.",
        "Rename one of them.",
    ),
    "AP208": Entry(
        "A phase depends on one that is not in the roadmap.",
        "The dependency could never be met.",
        "Correct `Depends on`.",
    ),
    "AP209": Entry(
        "Phases wait for each other in a circle.",
        "None of them could ever start. The message prints the circle.",
        "Remove one of these dependencies.",
    ),
    "AP210": Entry(
        "A roadmap holds no phase.",
        "Its headings don't look like `## Phase 3: Name`, or the file is empty.",
        "Write at least one phase; docs/roadmap-format.md shows how.",
    ),
    "AP211": Entry(
        "A roadmap holds what looks like a secret.",
        "It would be sent to a model and written into reports. The value is not repeated here.",
        "Remove it, revoke it, and use an environment variable.",
    ),
    "AP212": Entry(
        "A roadmap holds invisible characters (bidi controls, tags).",
        "They can make a text read differently to you and to a model.",
        "Remove them; the message names the line.",
    ),
    "AP213": Entry(
        "PHASES can't be read, or names a phase that is not in the roadmap.",
        "PHASES is 3, 1-7, 3,5,8, next or all.",
        "Use ids of the roadmap; `autopilot run --dry-run` lists them.",
    ),
    "AP220": Entry(
        "A playbook can't be opened.",
        "It is missing, or not yours to read.",
        "`--playbook standard` or `quality` are always there.",
    ),
    "AP221": Entry(
        "A playbook's file is no valid text, too large, or its front matter does not parse.",
        "A playbook decides thresholds and permissions, so nothing in it is guessed.",
        "The message names file and line.",
    ),
    "AP222": Entry(
        "A playbook has an unknown key.",
        "A misspelt threshold that is silently ignored would lower the quality.",
        "Use the nearest key that the message names.",
    ),
    "AP223": Entry(
        "A value of a playbook is out of bounds or of the wrong kind.",
        "Thresholds lie between 0 and 10, counts have documented limits.",
        "The message names the field and what it takes.",
    ),
    "AP224": Entry(
        "A playbook's prompt can't be used.",
        "A role without a usable prompt can't be asked.",
        "Repair the prompt that the message names.",
    ),
    "AP225": Entry(
        "A playbook extends one that can't be used, or itself.",
        "Playbooks are resolved before a run starts.",
        "Correct `extends`.",
    ),
    "AP226": Entry(
        "A playbook holds what looks like a secret.",
        "It would be sent to a model. The value is not repeated here.",
        "Remove it, revoke it, and use an environment variable.",
    ),
    "AP227": Entry(
        "A playbook holds invisible characters.",
        "They can make a prompt read differently to you and to a model.",
        "Remove them; the message names the line.",
    ),
    "AP230": Entry(
        "The set-up command of a worktree failed.",
        "Without it the checks of that worktree say nothing.",
        "Repair checks.setup (or `setup` in the roadmap's front matter), then `autopilot resume`.",
    ),
    "AP231": Entry(
        "A check can't start: the program that its command begins with was not found.",
        "The phase could never be verified, so nothing was begun.",
        "Name a command that exists here, or install it with checks.setup.",
    ),
    "AP232": Entry(
        "No roadmap was named, and none was found.",
        "It is looked for as ROADMAP.md, .autopilot/roadmap.md, .yaml or .json, and .planning/ROADMAP.md.",
        "Name one: autopilot run ROADMAP.md. docs/roadmap-format.md shows how to write it.",
    ),
    "AP233": Entry(
        "The bases of a unit conflict, and the conflict can't be written down as files.",
        "For example a file on one side and a folder on the other. The work of both sides is kept on its branches.",
        "Merge the two branches by hand, or let one phase depend on the other, then `autopilot resume`.",
    ),
    "AP301": Entry(
        "The provider can't answer now: a rate limit, an overload, an outage.",
        "All requests wait together, then go on with fewer at once. Waiting is no failure.",
        "Nothing. If the outage outlasts the wait policy the run parks with exit 8; `autopilot resume` goes on.",
    ),
    "AP302": Entry(
        "The connection to the provider failed.",
        "A reset, a proxy, a name that does not resolve. What arrived whole is kept.",
        "Check the network and ANTHROPIC_BASE_URL; the request is sent again by itself.",
    ),
    "AP303": Entry(
        "The provider sent nothing for too long.",
        "A stalled stream looks alive for ever; it is ended and asked again.",
        "Nothing, unless it repeats: then look at proxies that hold streams back.",
    ),
    "AP304": Entry(
        "The provider sent a stream that can't be read.",
        "Usually something between you and the provider changes the answer.",
        "Check ANTHROPIC_BASE_URL and proxies; the request is sent again by itself.",
    ),
    "AP305": Entry(
        "An answer ended without its end.",
        "A stream counts only when its stop reason came; every operation that is whole is kept, the cut one is never run.",
        "Nothing: the agent goes on with what is complete.",
    ),
    "AP306": Entry(
        "What answers is no Messages API.",
        "A stream was asked for, and something else came: a login page, a proxy's error.",
        "Check ANTHROPIC_BASE_URL, and whether a proxy answers in its place.",
    ),
    "AP310": Entry(
        "The provider does not accept the key.",
        "It is wrong, revoked, or of another organisation. Asking again can't help, so nothing is asked again.",
        "Set a valid key in the variable that the message names, then `autopilot resume`.",
    ),
    "AP311": Entry(
        "The key may not use this model.",
        "The provider knows both and refuses the pair.",
        "Give the key access, or name another model with --model, then `autopilot resume`.",
    ),
    "AP312": Entry(
        "The spend limit of the key is reached.",
        "This is permanent until somebody raises it, so the run stops at once and parks.",
        "Raise the limit or add credit, then `autopilot resume`.",
    ),
    "AP313": Entry(
        "The provider does not know the model.",
        "Its name is misspelt, retired, or of another provider.",
        "Name another with --model or ANTHROPIC_MODEL, then `autopilot resume`.",
    ),
    "AP314": Entry(
        "A request was too large for the provider.",
        "More was put into one request than the provider takes.",
        "Make the phase smaller or name fewer files to read, then `autopilot resume`.",
    ),
    "AP315": Entry(
        "The provider refused a request as invalid.",
        "The message holds its reason.",
        "If the prompt is too long, make the phase smaller; otherwise send the report.",
    ),
    "AP316": Entry(
        "The price of a model is not known.",
        "A run whose cost can't be counted can't be kept under a limit either.",
        "Add the model to a table and name it in AUTOPILOT_MODELS.",
    ),
    "AP317": Entry(
        "The provider refused a request for good.",
        "The message holds its reason; asking again can't help.",
        "Act on the reason, then `autopilot resume`.",
    ),
    "AP234": Entry(
        "The checks would import the repository's package from another place than the worktree under test.",
        "An editable install of your checkout puts an import hook before the worktree, so every check would judge the wrong files.",
        "Give each worktree an environment of its own with checks.setup, or name an interpreter without that install with --python.",
    ),
    "AP320": Entry(
        "The offline provider was asked to play a role that needs a model.",
        "It is a repair program: it plans by rule and builds by search, and reads no reports.",
        "Use a provider with a model for phases that name reports.",
    ),
    "AP321": Entry(
        "The offline provider found no brief to work from.",
        "It parses the brief of a unit out of the prompt; a playbook of yours may have left it out.",
        "Use the shipped playbook with the offline provider.",
    ),
    "AP330": Entry(
        "A call could cost more than what is left of the run's cap, so it was not made.",
        "What a call can cost at most is reserved before it; the cap is never passed.",
        "Raise it and go on: autopilot resume --max-usd X.",
    ),
    "AP340": Entry(
        "A provider was named that does not exist.",
        "The message lists those that do.",
        "Use one of them with --provider, or set `provider` in the configuration.",
    ),
    "AP341": Entry(
        "The playbook has no prompt for a role.",
        "An agent without a prompt can't be asked.",
        "Add the prompt to the playbook, or extend the standard one.",
    ),
    "AP342": Entry(
        "A script of answers can't be read.",
        "AUTOPILOT_SCRIPT names a JSON file of answers, for tests.",
        "Correct the file; the message names what is wrong.",
    ),
    "AP343": Entry(
        "The table of models can't be read.",
        "AUTOPILOT_MODELS names a TOML file that is laid over the shipped table.",
        "Correct the file at the place that the message names.",
    ),
    "AP344": Entry(
        "No model is named for the provider.",
        "A request without a model can't be sent.",
        "Set ANTHROPIC_MODEL or --model.",
    ),
    "AP399": Entry(
        "The script of the scripted provider has no answer left.",
        "It answers exactly what stands in its file, and never invents anything.",
        "Add an answer for the unit and role that the message names.",
    ),
    "AP401": Entry(
        "A path is not one that an edit or a read may name.",
        "Paths are relative to the top of the worktree, without `..`, control characters or a drive.",
        "Write the path as `git ls-files` would.",
    ),
    "AP402": Entry(
        "A path belongs to git or to Autopilot.",
        "Git runs what stands in these files, and a run's own files are its evidence.",
        "Leave it alone; commits are made by the harness.",
    ),
    "AP403": Entry(
        "A path does not resolve beneath the worktree, or is taken.",
        "A component is a link or no folder; links are never followed.",
        "Name the file itself by its own path, or choose a free one.",
    ),
    "AP404": Entry(
        "There is no such file.",
        "It was removed or renamed, or the path is misspelt.",
        "List the files, then name one that is there.",
    ),
    "AP405": Entry(
        "A path is no regular file.",
        "Folders, devices and sockets can't be edited or shown.",
        "Name a file.",
    ),
    "AP406": Entry(
        "A file is larger than may be read whole.",
        "A model never reads more than it needs, and memory is bounded.",
        "Read a slice of it.",
    ),
    "AP410": Entry(
        "A read would show more lines than are left to this role.",
        "A role reads what its task needs; a whole repository is never read into a model.",
        "Search for the lines that are needed.",
    ),
    "AP411": Entry(
        "A read asked for something that can't be shown.",
        "Lines out of range, or arguments that contradict each other.",
        "Correct the arguments and ask again.",
    ),
    "AP451": Entry(
        "A command would edit files in an unsafe way.",
        "Files change through edit operations only, because those can be undone and checked.",
        "Use edit operations.",
    ),
    "AP452": Entry(
        "A command is no valid text.",
        "It holds a NUL character or half a character, which no shell can be given.",
        "Correct the command of the check.",
    ),
    "AP453": Entry(
        "The shell tool was called with unusable arguments.",
        "It takes a command and a time limit of at most 600 seconds.",
        "Nothing: the agent is told and asks again.",
    ),
    "AP454": Entry(
        "The folder that a command should run in is gone.",
        "Something removed the worktree while its unit was working.",
        "`autopilot resume` makes it anew from its commit.",
    ),
    "AP455": Entry(
        "A folder that a command should write to can't be opened to it.",
        "It holds the home folder, /tmp or /run, which commands can't see.",
        "Work in a folder below it.",
    ),
    "AP501": Entry(
        "Commands can't be confined on this machine.",
        "Checks and agents' commands run in a sandbox without network; none works here, and going on without one is never silent.",
        "Install bubblewrap 0.8 or later, or accept the risk with --unsafe-no-sandbox, which every report then names.",
    ),
    "AP502": Entry(
        "The sandbox could not be set up for a command, which was therefore not run.",
        "User namespaces are switched off, or bubblewrap is too old.",
        "Install bubblewrap 0.8 or later and allow user namespaces.",
    ),
    "AP601": Entry(
        "This is no git repository, or git can't read it.",
        "A run works on commits: every result is one, and so is the way back.",
        "Start in a repository, or make one with `git init`.",
    ),
    "AP602": Entry(
        "This repository is bare.",
        "It has no files, so nothing can be checked in it.",
        "Start in a clone that has files.",
    ),
    "AP603": Entry(
        "The current folder lies inside a git folder.",
        "Nothing there is yours to change.",
        "Start in the folder that holds .git.",
    ),
    "AP604": Entry(
        "The repository has no commits.",
        "A run starts from a commit, and merges onto it.",
        "git add -A && git commit -m 'First commit'",
    ),
    "AP605": Entry(
        "Git is missing or too old.",
        "Merging without touching your files needs a recent git.",
        "Install git 2.38 or later.",
    ),
    "AP606": Entry(
        "A merge, rebase or the like is under way in this repository.",
        "HEAD is not where the work will be.",
        "Finish it or drop it, then start again.",
    ),
    "AP607": Entry(
        "Files are unmerged.",
        "The index holds several versions of them, so there is no tree to start from.",
        "Resolve them and `git add` them, then start again.",
    ),
    "AP608": Entry(
        "The repository's git configuration runs programs on its files.",
        "Filter and merge drivers run outside the sandbox at every checkout.",
        "Unset them for the time of the run, or drop the attributes that use them.",
    ),
    "AP610": Entry(
        "A git command failed.",
        "The message holds what git said.",
        "Act on it, then `autopilot resume`.",
    ),
    "AP611": Entry(
        "A git command did not end in time, or gave more output than can be held.",
        "A hanging git would hold the run for ever.",
        "Look for a stuck disk or a huge object, then `autopilot resume`.",
    ),
    "AP612": Entry(
        "A ref was not moved, because it does not stand where it was expected.",
        "Somebody else moved it. Nothing is ever overwritten or forced.",
        "Look at both commits, then `autopilot resume`.",
    ),
    "AP613": Entry(
        "A text is no name for a ref.",
        "Names are checked before git sees them.",
        "Use a full name such as refs/heads/topic.",
    ),
    "AP614": Entry(
        "A text is no revision.",
        "Revisions are checked before git sees them.",
        "Give a commit id or a full ref name.",
    ),
    "AP620": Entry(
        "There is no key for the provider.",
        "Neither ANTHROPIC_API_KEY nor ANTHROPIC_AUTH_TOKEN is set.",
        "export ANTHROPIC_API_KEY=…, or use --provider offline, which needs none.",
    ),
    "AP621": Entry(
        "A folder is no worktree of this repository.",
        "Its .git is missing or points elsewhere, so nothing is done in it.",
        "Move it away; `autopilot resume` makes a new one.",
    ),
    "AP622": Entry(
        "A path is no place for a worktree, or the folder there is not one of Autopilot's.",
        "Folders that Autopilot did not make are never used or removed.",
        "Move it away if its name is needed.",
    ),
    "AP623": Entry(
        "The manifest of the worktrees can't be read.",
        "Without it nobody knows which folders may be removed, so none is.",
        "Move .autopilot/worktrees away; the work is on branches and salvage refs.",
    ),
    "AP624": Entry(
        "The base commit of a worktree is gone.",
        "Somebody pruned the repository; the worktree's files were kept.",
        "Save what you need from the folder, then `autopilot run --fresh`.",
    ),
    "AP625": Entry(
        "A worktree could not be removed.",
        "A process still uses it, or its files belong to another user.",
        "End that process, then `autopilot gc`.",
    ),
    "AP630": Entry(
        "A file of the repository names commands, programs or caps that nobody on this machine has trusted.",
        "A cloned repository could run anything that way. Such settings count only while the file is what `autopilot trust` saw.",
        "Read the file, then: autopilot trust",
    ),
    "AP631": Entry(
        "A settings file can't be read, or is no valid TOML.",
        "Half-read settings would run something else than you wrote.",
        "Repair or remove the file that the message names.",
    ),
    "AP632": Entry(
        "A settings file has an unknown key.",
        "A misspelt setting that is silently ignored is worse than an error.",
        "Use the nearest key that the message names; `autopilot config show` lists all.",
    ),
    "AP633": Entry(
        "A setting's value is out of bounds or of the wrong kind.",
        "Caps are finite and above zero; a missing one means the documented default, never `unlimited`.",
        "Correct the value at the file and line, or the variable, that the message names.",
    ),
    "AP634": Entry(
        "A file of the repository sets what only the user may set: endpoints, keys, hooks, the sandbox.",
        "Whoever writes the repository could send your keys elsewhere, or open the sandbox.",
        "Remove the line.",
    ),
    "AP640": Entry(
        "The current folder does not exist.",
        "It was removed, or the path is misspelt.",
        "cd into a git repository.",
    ),
    "AP641": Entry(
        "The current folder is not in a git repository.",
        "A run works on commits: every result is one, and so is the way back.",
        "git init && git add -A && git commit -m 'Start'",
    ),
    "AP642": Entry(
        "The `.git` file here names no git directory.",
        "The repository that this worktree belongs to was moved or removed.",
        "git worktree repair",
    ),
    "AP643": Entry(
        "This repository has no run yet.",
        "The command needs one to look at.",
        "autopilot run ROADMAP.md",
    ),
    "AP644": Entry(
        "There is no run of this id in the repository.",
        "The message lists those that are there.",
        "Name one of them, or none for the newest.",
    ),
    "AP645": Entry(
        "Neither HOME nor the XDG variable names a folder.",
        "Pins and reports of the user need a place outside the repository.",
        "Export the variable that the message names.",
    ),
    "AP650": Entry(
        "The file of --events can't be written.",
        "Records would be lost without a word.",
        "Name a file in a folder that exists, or - for standard output.",
    ),
    "AP651": Entry(
        "The command line can't be read.",
        "An argument is missing or has the wrong form.",
        "The message holds the usage; `autopilot COMMAND --help` explains each argument.",
    ),
    "AP652": Entry(
        "There is no such command or flag.",
        "Unknown flags are never ignored: a misspelt --quality would quietly lower the bar.",
        "Use the nearest match that the message names.",
    ),
    "AP653": Entry(
        "There is one argument too many.",
        "An argument that is silently dropped was meant to do something.",
        "autopilot COMMAND --help",
    ),
    "AP654": Entry(
        "Two flags contradict each other.",
        "Guessing which one was meant would be wrong half the time.",
        "Leave one out, as the message says.",
    ),
    "AP655": Entry(
        "PHASES has a form that can't be read.",
        "PHASES is 3, 1-7, 3,5,8, next or all.",
        "autopilot run --help",
    ),
    "AP656": Entry(
        "The roadmap that was named is no readable file.",
        "It is missing, a folder, or not yours to read.",
        "Name an existing file.",
    ),
    "AP657": Entry(
        "--python names no program.",
        "Checks would fail one by one for the same reason.",
        "Name a Python interpreter, for example .venv/bin/python.",
    ),
    "AP658": Entry(
        "--repo names no directory.",
        "The demo copies a repository from there.",
        "Name a git repository.",
    ),
    "AP659": Entry(
        "The run has no unit of this id.",
        "Units are phases (20, 6.1) and sub-phases (20a).",
        "autopilot status",
    ),
    "AP660": Entry(
        "An unfinished run of another roadmap is in this repository.",
        "Two roadmaps on one repository would merge into each other.",
        "Go on with it: autopilot resume. Or put it away: autopilot run --fresh ROADMAP.md",
    ),
    "AP661": Entry(
        "The journal has no record of this number.",
        "The message tells the last one.",
        "Name a number up to it.",
    ),
    "AP662": Entry(
        "No error has this code.",
        "Codes look like AP203 and stand in the first line of an error.",
        "Copy the code from the error.",
    ),
    "AP663": Entry(
        "The run is not running; another one holds the repository.",
        "Only the run that is named is ever stopped.",
        "Name the run that the message tells.",
    ),
    "AP701": Entry(
        "Another Autopilot holds this repository.",
        "One repository has one writer at a time; the lock goes with its process, so it is never stale.",
        "Wait for it, `autopilot watch` it, or `autopilot stop` it.",
    ),
    "AP710": Entry(
        "No test of the demo's repository passes.",
        "Bugs are planted where tests notice them, so tests must pass first.",
        "Name the interpreter that has what they need: --python PATH or --setup CMD.",
    ),
    "AP711": Entry(
        "The tests of the demo's repository can't be run.",
        "They can't be collected, or their runner is missing.",
        "Name the interpreter that has what they need: --python PATH or --setup CMD.",
    ),
    "AP713": Entry(
        "No bug could be planted.",
        "The tests notice no change of the code, or too many of them do.",
        "Use a repository whose tests cover its functions.",
    ),
    "AP714": Entry(
        "The demo's folder holds something else.",
        "Nothing that the demo did not make is overwritten.",
        "Move it away, as the message says.",
    ),
}
