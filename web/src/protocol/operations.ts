// Made by tools/generate_page_types.py; do not edit.

export interface Nothing {
}

export interface Health {
  status: "ok";
}

export interface HostEntry {
  command: string;
  args: string[];
  env: Record<string, string>;
}

export interface ServerStatus {
  hostname: string;
  version: string;
  server_id: string;
  instance: string;
  pid: number;
  keeper_pid: number | null;
  address: string;
  sessions: number;
  exited_sessions: number;
  uptime_s: number;
  /** the profile by which policy judges what agents ask to run */
  guardrail: "open" | "guarded" | "strict";
  /** the sandbox of new sessions; `unavailable`: one is set that this machine cannot give */
  boundary: "none" | "landlock" | "bubblewrap" | "unavailable";
  /** of the open ones, those in a sandbox */
  confined_sessions: number;
  /** answers of people that cover later calls */
  standing_approvals: number;
  /** for the configuration of an MCP host on the server's machine */
  mcp_host: HostEntry;
  degraded: Record<string, string>;
}

export interface Limit {
  name: string;
  what: string;
  most: number;
  /** for one credential */
  each: number;
  /** for agents at one other machine */
  each_source: number;
  /** kept for people */
  for_people: number;
  /** now; for viewers, of the session that has the most */
  held: number;
}

export interface ServerLimits {
  /** that this process may have, which some bounds follow */
  open_files: number;
  limits: Limit[];
}

export interface StopParams {
  /** id of the conversation, or its beginning */
  conversation: string;
  /** also do what Ctrl-C does in its session; else what runs there goes on */
  interrupt?: boolean;
}

export interface Done {
}

export interface LinkParams {
  /** of a hub: whom it signs in */
  user?: string | null;
}

export interface Link {
  link: string;
}

export interface Persistent {
  persistent: boolean;
}

export interface PersistParams {
  /** false: end when no session and no client is left */
  persistent: boolean;
}

export interface ServerInfo {
  /** as it says itself; null until it was reached */
  hostname: string | null;
  /** `local` for this server itself */
  address: string;
  /** `away`: it joined this hub before, and is not connected now */
  health: "connecting" | "healthy" | "unavailable" | "rejected" | "away";
  role: "member";
  /** made from the key of that machine; its names are for show */
  server_id: string | null;
  version: string | null;
  /** open sessions; only this server's own are known */
  sessions: number | null;
  /** why it is not healthy */
  reason: string | null;
  /** when its connection to this hub ended */
  away_since: string | null;
}

export interface AddServerParams {
  /** where it is: http:// or https://, name, port, and its base prefix if it has one */
  address: string;
  /** a token of that server; ours is never sent */
  token?: string | null;
}

export interface ServerAdded {
  address: string;
  health: "connecting";
}

export interface ServerParams {
  /** its hostname, or host:port of its address */
  hostname: string;
}

export interface JoinParams {
  /** of the hub: http:// or https://, name, port, and its base prefix if it has one */
  address: string;
  /** a token of that hub which may `join` */
  token: string;
}

export interface HubInfo {
  /** address of the hub that this server joined; null for none */
  hub: string | null;
  state: "connecting" | "joined" | "unavailable" | "none";
  /** whose machine it is there; null for who runs the hub */
  user: string | null;
  /** by which the hub knows this machine */
  machine: string;
  /** why it is not joined */
  reason: string | null;
}

export interface UserInfo {
  name: string;
  created_at: string;
  tokens: number;
  machines: number;
  rooms: number;
}

export interface MachineInfo {
  /** whose it is; null for who runs the hub */
  user: string | null;
  machine: ServerInfo;
}

export interface UserParams {
  /** letters, digits, '.', '_' and '-' */
  name: string;
}

export interface UserTokenParams {
  /** the user */
  name: string;
  /** what it is for */
  label?: string;
  /** what it allows */
  scopes?: ("read" | "input" | "control" | "approve" | "join")[];
  /** the person's own, as `duetty login` stores it */
  person?: boolean;
  /** null: until revoked */
  expires_in_s?: number | null;
}

export interface NewUserToken {
  /** the token itself: it is not kept and cannot be shown again */
  token: string;
  id: string;
  user: string;
  scopes: string[];
}

export interface ShareSessionParams {
  /** its id, name, or MACHINE/SESSION */
  session: string;
  /** another user of the hub */
  user: string;
  role?: "watch" | "drive" | "moderate";
  /** null: until revoked */
  expires_in_s?: number | null;
}

export interface ShareInfo {
  id: string;
  session_id: string;
  /** its name, while its machine is here */
  session: string | null;
  machine: string | null;
  /** null: who runs the hub */
  owner: string | null;
  user: string;
  role: "watch" | "drive" | "moderate";
  expires_at: string | null;
}

export interface ShareParams {
  /** its id */
  share: string;
}

export interface RoomInfo {
  session_id: string;
  title: string;
  document_name: string | null;
  file_key: string | null;
  tools: RoomTool[];
  /** since its last call or message */
  last_activity_ms: number;
}

export interface RoomTool {
  name: string;
  description: string;
  input_schema: Record<string, unknown>;
}

export interface RoomToolsParams {
  /** wait for a change after this number */
  after?: number | null;
  /** how long at most */
  wait_ms?: number;
}

export interface RoomTools {
  /** of the last change */
  seq: number;
  rooms: RoomInfo[];
}

export interface RoomCallParams {
  /** its session id */
  room: string;
  /** a tool that it announced */
  tool: string;
  /** as its schema says */
  args?: Record<string, unknown>;
  /** names the call: the same one again is done once */
  command_id?: string | null;
  /** for the answer */
  wait_ms?: number;
}

export interface RoomResult {
  command_id: string;
  /** what the tool host answered */
  result: unknown;
}

export interface TokenCreateParams {
  /** whose it is, for lists and history */
  name: string;
  /** what it allows; none includes another, but `approve` comes with `read` */
  scopes: ("read" | "input" | "control" | "approve" | "admin")[];
  /** name of the only session it reaches */
  session?: string | null;
  /** seconds until it is refused */
  expires_in_s?: number | null;
}

export interface TokenInfo {
  id: string;
  kind: "token" | "login" | "browser";
  /** of a hub: whose it is */
  user: string | null;
  name: string;
  scopes: string[];
  /** the only session it reaches */
  session: string | null;
  valid: boolean;
  created_at: string;
  expires_at: string | null;
  /** to the minute */
  last_used_at: string | null;
  revoked_at: string | null;
}

export interface NewToken {
  /** the token itself: it is not kept and cannot be shown again */
  token: string;
  info: TokenInfo;
}

export interface TokenParams {
  /** id of the token */
  token: string;
}

export interface Ticket {
  ticket: string;
}

export interface WhoAmI {
  kind: "person" | "agent" | "node";
  name: string;
  /** of a hub: the user behind the credential */
  user: string | null;
  scopes: string[];
  /** the only session it reaches */
  session: string | null;
}

export interface OpenParams {
  /** name; a number is chosen when left out */
  name?: string | null;
  /** command to run; the user's shell when left out */
  command?: string | null;
  /** height, brought into 1 to 1000 */
  rows?: number | null;
  /** width, brought into 1 to 1000 */
  cols?: number | null;
  /** directory to start in; the user's home when left out */
  cwd?: string | null;
  /** variables added to the environment */
  env?: Record<string, string> | null;
  /** labels to find it by */
  tags?: string[];
  /** whether the shell announces commands by marks */
  integration?: boolean | null;
  /** what it runs in; any is the best there is; an agent may only tighten */
  sandbox?: "none" | "any" | "landlock" | "bubblewrap" | null;
  /** what a sandboxed session may write; an agent may leave out some of the workspaces that the settings name, and name no others */
  workspaces?: string[] | null;
  /** a later answer to the caller reports its end (`command.ended`) */
  background?: boolean;
  /** the session is ended after this time */
  max_run_ms?: number | null;
  /** the session is ended when it has printed more */
  max_output_bytes?: number | null;
  /** no other session gets its name after its exit, until it is removed */
  keep_name?: boolean;
  /** false: `env` is the whole environment, nothing of the server's is added */
  inherit_env?: boolean;
}

export interface Background {
  owner: string;
  command_line: string | null;
  /** of one that its caller stopped waiting for; null where the session is the command */
  block: string | null;
  ends_at: string | null;
  output_bytes: number;
  max_output_bytes: number | null;
}

export interface Foreground {
  name: string;
  pid: number;
  running_s: number;
}

export interface SessionInfo {
  name: string;
  id: string;
  server: string;
  pid: number | null;
  command: string;
  rows: number;
  cols: number;
  clients: number;
  tags: string[];
  last_activity_ms: number;
  state: "prompt" | "running" | "awaiting_input" | "awaiting_password" | "fullscreen" | "exited" | "unknown";
  state_known_by: "keeper" | "marks" | "terminal" | "kernel" | "nothing";
  /** the shell that announces its command lines, or none */
  integration: string;
  integration_reason: string | null;
  cwd: string;
  title: string;
  created_at: string;
  exit_code: number | null;
  exit_signal: string | null;
  /** what it runs in: none, landlock or bubblewrap */
  sandbox: string;
  /** directory in which agents change files unasked; null for none */
  workspace: string | null;
  /** the program that has the terminal; null for a shell at its prompt */
  foreground: Foreground | null;
  /** raw: keys reach the program one by one; no_echo: they are not shown */
  terminal: "raw" | "no_echo" | null;
  /** the command that goes on by itself here */
  background: Background | null;
  /** what no longer works as promised, and why */
  degraded: string | null;
  /** its machine is not connected to the hub since then: nothing else is known */
  away_since: string | null;
}

export interface ListParams {
  /** only sessions with one of these tags */
  tag?: string[];
}

export interface SelectParams {
  /** id of the session that was chosen before, if it is still active */
  remembered?: string | null;
  /** of tool hosts in place of terminals: those that announced this tool */
  room_tool?: string | null;
}

export interface SelectedSession {
  /** its name */
  session: string;
  session_id: string;
  machine: string;
  reason: "only" | "remembered";
}

export interface SessionParams {
  /** name of the session */
  session: string;
}

export interface UpdateParams {
  /** name of the session */
  session: string;
  /** new name */
  name?: string | null;
  add_tags?: string[];
  remove_tags?: string[];
  /** absolute directory in which agents change files unasked, empty for none; only a person can set it */
  workspace?: string | null;
}

export interface ResizeParams {
  /** name of the session */
  session: string;
  /** width, brought into 1 to 1000 */
  cols: number;
  /** height, brought into 1 to 1000 */
  rows: number;
}

export interface SignalParams {
  /** name of the session */
  session: string;
  signal: "HUP" | "INT" | "QUIT" | "TERM" | "KILL" | "STOP" | "CONT" | "USR1" | "USR2" | "TSTP";
  /** foreground program, session's process, its group, or all of them */
  whom?: "foreground" | "process" | "group" | "all";
}

export interface CloseParams {
  /** name of the session */
  session: string;
  /** sent first; KILL follows after the grace */
  signal?: "HUP" | "INT" | "QUIT" | "TERM" | "KILL" | "STOP" | "CONT" | "USR1" | "USR2" | "TSTP";
  /** time until KILL */
  grace_ms?: number | null;
}

export interface AnyIdleParams {
  /** silence to wait for, at most 300,000 */
  timeout_ms: number;
  format?: "styled" | "plain";
  /** overall bound, at most 300,000 */
  max_wait_ms?: number;
  /** only sessions with one of these tags */
  tag?: string[];
  /** the session that was idle last; `last_generation` is about it */
  last_session?: string | null;
  /** if nothing happened there since this generation, it must first */
  last_generation?: number | null;
  /** true: the silence begins now at the earliest */
  fresh?: boolean;
}

export interface AnyIdle {
  session: string;
  screen: Record<string, unknown>;
  scrollback_lines: number;
  generation: number;
}

export interface WriteParams {
  /** name of the session */
  session: string;
  /** silence that counts as an end where there are no marks */
  timeout_ms?: number;
  /** overall bound; the command goes on after it */
  max_wait_ms?: number;
  /** answer as soon as the output holds this text, or one of these */
  until_text?: string | string[] | null;
  /** the same with regular expressions */
  until_regex?: string | string[] | null;
  format?: "styled" | "plain";
  /** whether the answer carries the screen */
  screen?: boolean;
  /** whether it carries the rows that changed since this caller's last look */
  changes?: boolean;
  max_output_bytes?: number | null;
  /** of a command that goes on in a session that its agent opened: it is ended after this time, unless an actor has typed since */
  max_run_ms?: number;
  /** the same, when it has printed more than this */
  max_run_bytes?: number;
  /** settle: until what is typed shows; end: as a run, until the command ends or waits */
  wait?: "none" | "settle" | "end";
  /** what to write */
  data: string;
  encoding?: "utf8" | "base64";
}

export interface Approved {
  /** of the question */
  id: string;
  /** whether another command line ran than the one that was sent */
  edited: boolean;
  /** the one that ran, where it was edited */
  command: string | null;
  /** the person's own words, if any */
  note: string | null;
}

export interface RunResult {
  completed_by: "mark" | "exit" | "input" | "fullscreen" | "text" | "idle" | "deadline";
  /** null means unknown */
  exit_code: number | null;
  output: string | null;
  output_bytes: number;
  omitted_bytes: number;
  omitted_lines: number;
  /** id by which the whole output can be paged */
  block: string | null;
  blocks: string[];
  /** of several commands, the one that runs now; `blocks` are those that ended */
  running: string | null;
  state: "prompt" | "running" | "awaiting_input" | "awaiting_password" | "fullscreen" | "exited" | "unknown";
  state_known_by: string;
  /** no shell was at its prompt: the program that had the terminal was given the line */
  into_program: boolean;
  /** the shell waits for the rest of the command line */
  continuation: boolean;
  cwd: string;
  duration_ms: number;
  generation: number;
  match: string | null;
  /** the line of output that it stands in */
  match_line: string | null;
  /** the text or pattern that it is a match of */
  matched: string | null;
  /** its row in the scrollback, from the oldest */
  match_row: number | null;
  screen: ScreenShape | null;
  /** the program that has the terminal */
  foreground: Foreground | null;
  /** as in `session.get` */
  terminal: "raw" | "no_echo" | null;
  cursor: ScreenCursor | null;
  /** rows that changed since this caller's last look, by number */
  changed: Record<string, string> | null;
  /** what it goes on as, where the wait for it is over before it */
  background: Background | null;
  /** how a person answered for it; null where none was asked */
  approved: Approved | null;
}

export interface ScreenCursor {
  row: number;
  col: number;
  visible: boolean;
}

export interface ScreenIndexed {
  /** 0 to 255 */
  indexed: number;
}

export interface ScreenRgb {
  r: number;
  g: number;
  b: number;
}

export interface ScreenShape {
  /** grows with every change */
  epoch: number;
  first_line_index: number;
  /** rows of scrollback and screen together */
  total_lines: number;
  /** exactly `rows`: spans when styled, texts when plain */
  lines: (ScreenSpan[] | string)[];
  cursor: ScreenCursor;
  cols: number;
  rows: number;
  alternate_active: boolean;
}

export interface ScreenSpan {
  text: string;
  fg: ScreenIndexed | ScreenTrueColour | null;
  bg: ScreenIndexed | ScreenTrueColour | null;
  bold: boolean;
  faint: boolean;
  italic: boolean;
  underline: boolean;
  strikethrough: boolean;
  blink: boolean;
  inverse: boolean;
  link: string | null;
}

export interface ScreenTrueColour {
  rgb: ScreenRgb;
}

export interface Written {
  bytes: number;
  /** what came of it, where the call waited for that */
  after: RunResult | null;
  /** false: an interrupt that changed nothing; null where it is unknown */
  had_effect: boolean | null;
}

export interface PressParams {
  /** name of the session */
  session: string;
  /** silence that counts as an end where there are no marks */
  timeout_ms?: number;
  /** overall bound; the command goes on after it */
  max_wait_ms?: number;
  /** answer as soon as the output holds this text, or one of these */
  until_text?: string | string[] | null;
  /** the same with regular expressions */
  until_regex?: string | string[] | null;
  format?: "styled" | "plain";
  /** whether the answer carries the screen */
  screen?: boolean;
  /** whether it carries the rows that changed since this caller's last look */
  changes?: boolean;
  max_output_bytes?: number | null;
  /** of a command that goes on in a session that its agent opened: it is ended after this time, unless an actor has typed since */
  max_run_ms?: number;
  /** the same, when it has printed more than this */
  max_run_bytes?: number;
  /** settle: until what is typed shows; end: as a run, until the command ends or waits */
  wait?: "none" | "settle" | "end";
  /** named keys such as Enter, Ctrl-C, Up, F5, Alt-x, or single characters */
  keys: string[];
}

export interface PasteParams {
  /** name of the session */
  session: string;
  text: string;
}

export interface ModeInfo {
  mode: "passthrough" | "capture";
  /** who captures the keyboard */
  owners: string[];
  /** until the capture ends, unless it is renewed */
  lease_ms: number | null;
}

export interface CaptureParams {
  /** name of the session */
  session: string;
  /** the capture ends after this time unless it is renewed, by asking again or by reading keys */
  lease_ms?: number;
  /** in whose name; the actor's own when left out */
  owner?: string | null;
}

export interface ReleaseParams {
  /** name of the session */
  session: string;
  /** only this owner's capture; every owner's when left out */
  owner?: string | null;
}

export interface FocusInfo {
  focused: string | null;
}

export interface FocusParams {
  /** name of the session */
  session: string;
  /** id of a focusable overlay or panel */
  id: string;
}

export interface KeysParams {
  /** name of the session */
  session: string;
  /** only keys after this seq */
  after?: number;
  /** wait so long for a key while captured */
  wait_ms?: number;
  limit?: number;
  /** whose lease this renews */
  owner?: string | null;
}

export interface KeyInfo {
  seq: number;
  /** null when it is no key that we know */
  key: string | null;
  modifiers: string[];
  text: string;
  /** the bytes that the keyboard sent */
  raw: number[];
  /** the element that had the focus */
  target: string | null;
  at_ms: number;
}

export interface KeysInfo {
  keys: KeyInfo[];
  /** give it as `after` to go on */
  last_seq: number;
  /** keys after `after` that were not kept until now */
  missed: number;
  mode: "passthrough" | "capture";
}

export interface TypeParams {
  /** name of the session */
  session: string;
  /** what a person typed */
  data: string;
  encoding?: "utf8" | "base64";
}

export interface Typed {
  /** after what was typed */
  mode: "passthrough" | "capture";
  /** how many the program got */
  bytes: number;
}

export interface BackgroundShape {
  bg: "black" | "red" | "green" | "yellow" | "blue" | "magenta" | "cyan" | "white" | RgbShape;
}

export interface RgbShape {
  r: number;
  g: number;
  b: number;
}

export interface SpanShape {
  /** a line end begins the next row; control characters are not shown */
  text: string;
  fg?: "black" | "red" | "green" | "yellow" | "blue" | "magenta" | "cyan" | "white" | RgbShape | null;
  bg?: "black" | "red" | "green" | "yellow" | "blue" | "magenta" | "cyan" | "white" | RgbShape | null;
  bold?: boolean | null;
  italic?: boolean | null;
  underline?: boolean | null;
  /** names it for later changes */
  id?: string | null;
}

export interface CreateOverlayParams {
  /** name of the session */
  session: string;
  /** first column, counted over the whole surface from 0 */
  x: number;
  /** first row */
  y: number;
  width: number;
  height: number;
  spans: SpanShape[];
  /** higher is on top; above all others when left out */
  z?: number | null;
  /** fills the rectangle; without it what is below shows where no text is */
  background?: BackgroundShape | null;
  focusable?: boolean | null;
}

export interface Created {
  id: string;
}

export interface OverlayInfo {
  id: string;
  z: number;
  spans: SpanShape[];
  background?: BackgroundShape | null;
  region_writes?: RegionWriteShape[] | null;
  x: number;
  y: number;
  width: number;
  height: number;
  focusable?: boolean;
  screen_mode?: "normal" | "alt";
  /** the actor that made it */
  owner?: string | null;
}

export interface RegionWriteShape {
  /** a line end begins the next row; control characters are not shown */
  text: string;
  fg?: "black" | "red" | "green" | "yellow" | "blue" | "magenta" | "cyan" | "white" | RgbShape | null;
  bg?: "black" | "red" | "green" | "yellow" | "blue" | "magenta" | "cyan" | "white" | RgbShape | null;
  bold?: boolean | null;
  italic?: boolean | null;
  underline?: boolean | null;
  /** within the element, from 0 */
  row: number;
  /** within the element, from 0 */
  col: number;
}

export interface ElementParams {
  /** name of the session */
  session: string;
  /** id of the overlay or panel */
  id: string;
}

export interface UpdateOverlayParams {
  /** name of the session */
  session: string;
  /** id of the overlay or panel */
  id: string;
  spans: SpanShape[];
}

export interface PatchOverlayParams {
  /** name of the session */
  session: string;
  /** id of the overlay or panel */
  id: string;
  x?: number | null;
  y?: number | null;
  z?: number | null;
  width?: number | null;
  height?: number | null;
  /** null takes it away */
  background?: BackgroundShape | null;
  spans?: SpanShape[] | null;
  focusable?: boolean | null;
}

export interface NamedSpanShape {
  /** a line end begins the next row; control characters are not shown */
  text: string;
  fg?: "black" | "red" | "green" | "yellow" | "blue" | "magenta" | "cyan" | "white" | RgbShape | null;
  bg?: "black" | "red" | "green" | "yellow" | "blue" | "magenta" | "cyan" | "white" | RgbShape | null;
  bold?: boolean | null;
  italic?: boolean | null;
  underline?: boolean | null;
  /** every span of this name is replaced */
  id: string;
}

export interface SpansParams {
  /** name of the session */
  session: string;
  /** id of the overlay or panel */
  id: string;
  /** names that are not there are ignored */
  spans: NamedSpanShape[];
}

export interface RegionWriteParams {
  /** name of the session */
  session: string;
  /** id of the overlay or panel */
  id: string;
  /** drawn above the spans; one at the same place replaces the earlier one */
  writes: RegionWriteShape[];
}

export interface CreatePanelParams {
  /** name of the session */
  session: string;
  position: "top" | "bottom";
  /** rows that the program gives up while it is shown */
  height: number;
  /** higher gets its rows first, and is nearer to the edge */
  z?: number | null;
  background?: BackgroundShape | null;
  spans?: SpanShape[];
  focusable?: boolean | null;
}

export interface PanelInfo {
  id: string;
  z: number;
  spans: SpanShape[];
  background?: BackgroundShape | null;
  region_writes?: RegionWriteShape[] | null;
  position: "top" | "bottom";
  height: number;
  /** false: there is no room for it, or the other mode is shown */
  visible: boolean;
  focusable?: boolean;
  screen_mode?: "normal" | "alt";
  /** the actor that made it */
  owner?: string | null;
}

export interface UpdatePanelParams {
  /** name of the session */
  session: string;
  /** id of the overlay or panel */
  id: string;
  position: "top" | "bottom";
  height: number;
  z: number;
  spans: SpanShape[];
}

export interface PatchPanelParams {
  /** name of the session */
  session: string;
  /** id of the overlay or panel */
  id: string;
  position?: "top" | "bottom" | null;
  height?: number | null;
  z?: number | null;
  /** null takes it away */
  background?: BackgroundShape | null;
  spans?: SpanShape[] | null;
  focusable?: boolean | null;
}

export interface SurfaceInfo {
  overlays: OverlayInfo[];
  panels: PanelInfo[];
  screen_mode: "normal" | "alt";
  input_mode: "passthrough" | "capture";
  focused: string | null;
  cols: number;
  rows: number;
  program_rows: number;
  top: number;
}

export interface BatchParams {
  /** name of the session */
  session: string;
  /** id of the overlay or panel */
  id: string;
  type: "overlay" | "panel";
  spans?: NamedSpanShape[] | null;
  writes?: RegionWriteShape[] | null;
}

export interface ScreenModeInfo {
  mode: "normal" | "alt";
}

export interface ScreenParams {
  /** name of the session */
  session: string;
  format?: "styled" | "plain";
}

export interface TimedScreenShape {
  /** grows with every change */
  epoch: number;
  first_line_index: number;
  /** rows of scrollback and screen together */
  total_lines: number;
  /** exactly `rows`: spans when styled, texts when plain */
  lines: (ScreenSpan[] | string)[];
  cursor: ScreenCursor;
  cols: number;
  rows: number;
  alternate_active: boolean;
  last_activity_ms: number;
}

export interface ScrollbackParams {
  /** name of the session */
  session: string;
  format?: "styled" | "plain";
  /** from the oldest row; negative counts from the newest */
  offset?: number;
  /** rows, at most 10,000 */
  limit?: number;
}

export interface ScrollbackShape {
  epoch: number;
  lines: (ScreenSpan[] | string)[];
  total_lines: number;
  /** of the first row given, from the oldest */
  offset: number;
}

export interface BlocksParams {
  /** name of the session */
  session: string;
  limit?: number;
  /** only blocks with a smaller number */
  before?: number | null;
}

export interface BlockInfo {
  id: string;
  number: number;
  session: string;
  command_line: string | null;
  cwd: string | null;
  exit_code: number | null;
  started_at: string;
  duration_ms: number | null;
  output_bytes: number | null;
  actor: string;
  running: boolean;
}

export interface BlockOutputParams {
  /** name of the session */
  session: string;
  /** id or number of the block */
  block: string;
  /** first line; negative counts from the end */
  offset?: number;
  /** lines */
  limit?: number;
}

export interface BlockOutput {
  block: BlockInfo;
  lines: string[];
  offset: number;
  total_lines: number;
  /** from its beginning, which are no longer kept */
  gone_bytes: number;
}

export interface ReadOutputParams {
  /** name of the session */
  session: string;
  /** first byte; negative counts from the end */
  cursor?: number;
  max_bytes?: number;
  /** wait so long for something behind the cursor */
  wait_ms?: number;
}

export interface ReadOutput {
  text: string;
  /** where this begins: later than asked for, where that is gone */
  cursor: number;
  /** the cursor with which to go on */
  next: number;
  /** behind the cursor asked for, and no longer kept */
  gone_bytes: number;
  state: "prompt" | "running" | "awaiting_input" | "awaiting_password" | "fullscreen" | "exited" | "unknown";
  exit_code: number | null;
}

export interface HistoryParams {
  /** only this session */
  session?: string | null;
  limit?: number;
}

export interface SearchParams {
  /** words, "quoted phrases", prefix* */
  query: string;
  /** only this session */
  session?: string | null;
  cwd?: string | null;
  /** true: only commands that failed */
  failed?: boolean | null;
  limit?: number;
}

export interface SearchHit {
  block: BlockInfo;
  field: "command" | "output";
  snippet: string;
  /** start and end of each match in the snippet */
  matches: [number, number][];
}

export interface ContextParams {
  /** name of the session; left out: the open one in which something happened last */
  session?: string | null;
}

export interface Directory {
  session: string;
  cwd: string;
  /** null: it has none */
  workspace: string | null;
}

export interface GitChange {
  path: string;
  change: "added" | "modified" | "deleted" | "type_changed" | "renamed" | "copied" | "unmerged";
}

export interface GitState {
  session: string;
  /** top of the work tree; null: no repository */
  root: string | null;
  /** null: no repository, or HEAD is detached */
  branch: string | null;
  /** null: nothing is committed yet */
  commit: string | null;
  upstream: string | null;
  /** commits; null: unknown */
  ahead: number | null;
  behind: number | null;
  staged: GitChange[];
  /** in the work tree and not staged */
  modified: GitChange[];
  untracked: string[];
  /** the answer was cut: there is more */
  truncated: boolean;
}

export interface LogParams {
  /** name of the session; left out: the open one in which something happened last */
  session?: string | null;
  /** commands, the newest */
  limit?: number;
  /** of each command's output */
  output_chars?: number;
}

export interface SessionLog {
  session: string;
  markdown: string;
  commands: number;
  /** older commands, or parts of output, are left out */
  truncated: boolean;
}

export interface FileReadParams {
  /** name of the session; left out: the open one in which something happened last */
  session?: string | null;
  /** relative to the session's directory; below its workspace */
  path: string;
  max_bytes?: number;
}

export interface FileContent {
  session: string;
  /** relative to the workspace */
  path: string;
  media_type: string;
  encoding: "utf8" | "base64";
  data: string;
  size_bytes: number;
  truncated: boolean;
}

export interface FileParams {
  /** name of the session; left out: the open one in which something happened last */
  session?: string | null;
  /** relative to the session's directory; below its workspace */
  path: string;
}

export interface FileEntry {
  name: string;
  kind: "file" | "directory" | "link" | "other";
}

export interface FileList {
  session: string;
  /** relative to the workspace */
  path: string;
  entries: FileEntry[];
  truncated: boolean;
}

export interface RunParams {
  /** name of the session */
  session: string;
  /** silence that counts as an end where there are no marks */
  timeout_ms?: number;
  /** overall bound; the command goes on after it */
  max_wait_ms?: number;
  /** answer as soon as the output holds this text, or one of these */
  until_text?: string | string[] | null;
  /** the same with regular expressions */
  until_regex?: string | string[] | null;
  format?: "styled" | "plain";
  /** whether the answer carries the screen */
  screen?: boolean;
  /** whether it carries the rows that changed since this caller's last look */
  changes?: boolean;
  max_output_bytes?: number | null;
  /** of a command that goes on in a session that its agent opened: it is ended after this time, unless an actor has typed since */
  max_run_ms?: number;
  /** the same, when it has printed more than this */
  max_run_bytes?: number;
  /** the command's standard input; it is part of no command line and no history */
  stdin?: string | null;
  stdin_encoding?: "utf8" | "base64";
  /** command line to type; Enter is added when missing */
  input: string;
  /** do what Ctrl-C does when the time is up or the caller goes */
  interrupt?: boolean;
  /** what for, in the caller's words: shown to the person who is asked, if one is */
  why?: string | null;
}

export interface Ended {
  session: string;
  /** by which its output can be paged */
  block: string | null;
  command_line: string | null;
  exit_code: number | null;
  duration_ms: number | null;
  /** which of its bounds ended it, if one did */
  bound_reached: "deadline" | "output" | "memory" | null;
}

export interface LeftRunning {
  session: string;
  session_id: string;
  /** null where the session is the command */
  block: string | null;
  running: boolean;
}

export interface WaitParams {
  /** name of the session */
  session: string;
  /** silence to wait for */
  idle_ms?: number | null;
  last_generation?: number | null;
  fresh?: boolean;
  /** a text, or any of several; regex besides */
  text?: string | string[] | null;
  regex?: string | string[] | null;
  /** a block with a number above this is closed */
  block?: number | null;
  exit?: boolean;
  state?: ("prompt" | "running" | "awaiting_input" | "awaiting_password" | "fullscreen" | "exited" | "unknown")[];
  max_wait_ms?: number;
  format?: "styled" | "plain";
}

export interface WaitResult {
  reason: "idle" | "text" | "block" | "exit" | "state";
  generation: number;
  state: "prompt" | "running" | "awaiting_input" | "awaiting_password" | "fullscreen" | "exited" | "unknown";
  state_known_by: string;
  match: string | null;
  /** the line that it stands in */
  match_line: string | null;
  /** the text or pattern that it is a match of */
  matched: string | null;
  /** its row in the scrollback, from the oldest */
  match_row: number | null;
  foreground: Foreground | null;
  terminal: "raw" | "no_echo" | null;
  block: BlockInfo | null;
  exit_code: number | null;
  screen: ScreenShape;
  scrollback_lines: number;
  last_activity_ms: number;
}

export interface IdleParams {
  /** name of the session */
  session: string;
  /** silence to wait for, at most 300,000 */
  timeout_ms: number;
  format?: "styled" | "plain";
  /** overall bound, at most 300,000 */
  max_wait_ms?: number;
  /** if nothing happened since this generation, wait until something does */
  last_generation?: number | null;
  /** true: the silence begins now at the earliest */
  fresh?: boolean;
}

export interface Idle {
  screen: ScreenShape;
  scrollback_lines: number;
  generation: number;
  last_activity_ms: number;
}

export interface SnapshotParams {
  /** name of the session */
  session: string;
  format?: "vt" | "html" | "svg" | "png";
  /** pixels of a png for each of a svg */
  scale?: number;
  /** with panels and overlays, as viewers see it */
  elements?: boolean;
}

export interface Document {
  media_type: string;
  encoding: "utf8" | "base64";
  data: string;
}

export interface RecordingParams {
  /** name of the session */
  session: string;
  /** of the asciicast format */
  version?: 2 | 3;
}

export interface RunProcessParams {
  /** the command's standard input; it is part of no command line and no history */
  stdin?: string | null;
  stdin_encoding?: "utf8" | "base64";
  /** command line for the shell, with all that a shell can do */
  command: string;
  /** directory to run in; the home when left out */
  cwd?: string | null;
  /** variables added to the environment */
  env?: Record<string, string>;
  /** shell that reads it: a name or a path */
  shell?: string | null;
  /** it is ended after this time */
  timeout_ms?: number | null;
  /** CPU time of each process */
  max_cpu_s?: number | null;
  /** address space of each process */
  max_memory_mib?: number | null;
  /** size of each file it writes */
  max_file_mib?: number | null;
  /** what it runs in; any is the best there is; an agent may only tighten */
  sandbox?: "none" | "any" | "landlock" | "bubblewrap" | null;
  /** what it may write in a sandbox; an agent may leave out some of the workspaces that the settings name, and name no others */
  workspaces?: string[] | null;
  /** id to know it by; chosen when left out */
  id?: string | null;
  /** of each stream in the answer; the rest is read */
  max_output_bytes?: number | null;
}

export interface ProcessInfo {
  id: string;
  pid: number;
  command: string;
  cwd: string;
  state: "running" | "exited";
  /** null while it runs, and after a signal */
  exit_code: number | null;
  exit_signal: string | null;
  timed_out: boolean;
  stopped: boolean;
  /** ended, but something it started still holds its output */
  leftovers: boolean;
  started_at: string;
  duration_ms: number;
  stdout_bytes: number;
  stderr_bytes: number;
  /** what it runs in: none, landlock or bubblewrap */
  sandbox: string;
  /** how a person answered for it: in the answer to process.run or process.start */
  approved: Approved | null;
}

export interface RunProcessResult {
  process: ProcessInfo;
  stdout: string;
  stderr: string;
  stdout_omitted_bytes: number;
  stderr_omitted_bytes: number;
  /** one sentence, when it did not end with 0 */
  message: string | null;
}

export interface StartProcessParams {
  /** the command's standard input; it is part of no command line and no history */
  stdin?: string | null;
  stdin_encoding?: "utf8" | "base64";
  /** command line for the shell, with all that a shell can do */
  command: string;
  /** directory to run in; the home when left out */
  cwd?: string | null;
  /** variables added to the environment */
  env?: Record<string, string>;
  /** shell that reads it: a name or a path */
  shell?: string | null;
  /** it is ended after this time */
  timeout_ms?: number | null;
  /** CPU time of each process */
  max_cpu_s?: number | null;
  /** address space of each process */
  max_memory_mib?: number | null;
  /** size of each file it writes */
  max_file_mib?: number | null;
  /** what it runs in; any is the best there is; an agent may only tighten */
  sandbox?: "none" | "any" | "landlock" | "bubblewrap" | null;
  /** what it may write in a sandbox; an agent may leave out some of the workspaces that the settings name, and name no others */
  workspaces?: string[] | null;
  /** id to know it by; chosen when left out */
  id?: string | null;
}

export interface ReadProcessParams {
  /** id of the process */
  process: string;
  /** first byte; negative counts from the end */
  stdout_offset?: number;
  /** first byte; negative counts from the end */
  stderr_offset?: number;
  /** of each stream */
  max_bytes?: number;
  /** wait so long for something new, or the end */
  wait_ms?: number;
  /** what the wait is for */
  wait_for?: "output" | "end";
}

export interface ProcessOutput {
  process: ProcessInfo;
  stdout: string;
  stderr: string;
  /** where the text begins; later than asked for if gone */
  stdout_offset: number;
  stderr_offset: number;
  /** offset for the next read */
  stdout_next: number;
  stderr_next: number;
}

export interface StopProcessParams {
  /** id of the process */
  process: string;
  /** sent first; KILL follows after the grace */
  signal?: "HUP" | "INT" | "QUIT" | "TERM" | "KILL" | "STOP" | "CONT" | "USR1" | "USR2" | "TSTP";
  /** time until KILL */
  grace_ms?: number;
}

export interface TerminalParams {
  /** what to do; the aliases of older tools still work */
  action: "execute" | "read_output" | "terminate" | "list" | "run" | "send" | "create" | "kill" | "close";
  /** how it is to run */
  invocation?: { mode: "interactive" | "headless" };
  /** hints */
  runtime?: { cols: number; rows: number; name: string; shell: string; sandbox: "none" | "any" | "landlock" | "bubblewrap"; default_cwd: string; open_page: boolean; background: boolean; max_output_bytes: number; stdout_offset: number; stderr_offset: number };
  /** what to run */
  execution?: { command: string; args: string[]; cwd: string; env: Record<string, string>; stdin: string; timeout: number; timeout_ms: number; intent: "open_only" | "execute_command" };
  /** which one a read_output, terminate or a further execute is for */
  target?: { session: string; terminal: string };
  /** what a bridge from an older call shape says of itself */
  compat?: { shape: "canonical" | "flat"; client: string; legacy_action: string };
  [field: string]: unknown;
}

export interface AliasInfo {
  /** the action as it came; null if it was no text */
  requested: string | null;
  /** what it means; null if nothing */
  canonical: "execute" | "read_output" | "terminate" | "list" | null;
  /** whether an alias was replaced by a canonical action */
  normalised: boolean;
  /** how, where one was */
  note: string | null;
}

export interface Executed {
  status: "opened" | "completed" | "awaiting_input" | "awaiting_password" | "fullscreen" | "running";
  /** whether a new terminal was opened for it */
  opened: boolean;
  /** null means unknown, or that it still runs */
  exit_code: number | null;
  exit_signal: string | null;
  /** interactive: what it printed */
  output: string | null;
  stdout: string | null;
  stderr: string | null;
  /** left out of the answer; read_output has the end */
  omitted_bytes: number;
  cwd: string | null;
  state: "prompt" | "running" | "awaiting_input" | "awaiting_password" | "fullscreen" | "exited" | "unknown" | null;
  duration_ms: number | null;
  /** how the end is known: mark, exit, idle … */
  known_by: string | null;
}

export interface Listed {
  session: string;
  mode: "interactive" | "headless";
  state: "prompt" | "running" | "awaiting_input" | "awaiting_password" | "fullscreen" | "exited" | "unknown";
  command: string;
  cwd: string;
  created_at: string;
  exit_code: number | null;
  /** how many look at it; null for headless */
  viewers: number | null;
  /** what it runs in: none, landlock or bubblewrap */
  sandbox: string;
  opened_by_you: boolean;
}

export interface Listing {
  terminals: Listed[];
  /** how many of yours there are in each mode */
  counts: Record<string, number>;
}

export interface Metadata {
  contract: "terminal/1";
  trace_id: string;
  alias: AliasInfo;
  /** the call shape it came in */
  shape: "canonical" | "flat";
  /** fields of a flat call, and where each was put */
  lifted: string[];
  mode: "interactive" | "headless" | null;
  intent: "open_only" | "execute_command" | null;
  /** the path it took; null if it took none */
  route: string | null;
  /** how a person answered for it; null where none was asked */
  approval: Approved | null;
}

export interface OutputRead {
  state: "prompt" | "running" | "awaiting_input" | "awaiting_password" | "fullscreen" | "exited" | "unknown";
  /** the command that printed it */
  command: string | null;
  exit_code: number | null;
  exit_signal: string | null;
  /** interactive: the end of what it printed */
  output: string | null;
  omitted_lines: number;
  /** interactive: what is visible now */
  screen: string[] | null;
  stdout: string | null;
  stderr: string | null;
  /** headless: offset for the next read */
  stdout_next: number | null;
  stderr_next: number | null;
  cwd: string | null;
}

export interface TargetInfo {
  session: string;
  mode: "interactive" | "headless";
  /** what it runs in: none, landlock or bubblewrap */
  sandbox: string;
}

export interface Terminated {
  state: "prompt" | "running" | "awaiting_input" | "awaiting_password" | "fullscreen" | "exited" | "unknown";
  exit_code: number | null;
  exit_signal: string | null;
  was_running: boolean;
}

export interface TerminalAnswer {
  ok: true;
  action: "execute" | "read_output" | "terminate" | "list";
  target: TargetInfo | null;
  result: Executed | OutputRead | Terminated | Listing;
  metadata: Metadata;
}

export interface ApprovalsParams {
  /** with the last ones that were settled */
  settled?: boolean;
  /** wait until something was asked or settled after this `seq` */
  after?: number | null;
  /** how long to wait for that */
  wait_ms?: number;
}

export interface ApprovalChoice {
  covers: "once" | "conversation" | "session" | "project" | "hours" | "always";
  /** what runs unasked then, to be shown beside the choice */
  says: string;
  /** the same in full, as it is kept; null for `once` */
  rule: string | null;
}

export interface ApprovalInfo {
  id: string;
  state: "pending" | "granted" | "rejected" | "expired" | "withdrawn";
  operation: string;
  /** the name that it has now, or had last */
  session: string | null;
  session_id: string | null;
  actor: string;
  /** as it will run */
  command_line: string | null;
  /** the same, with everything that hides made visible */
  shown: string | null;
  cwd: string | null;
  reason: string;
  /** what for, in the caller's words */
  said: string | null;
  rule: string | null;
  classes: string[];
  suggestion: string | null;
  /** how far a yes can go, narrowest first; `once` is always there */
  choices: ApprovalChoice[];
  asked_at: string;
  expires_at: string;
  settled_at: string | null;
  settled_by: string | null;
  via: string | null;
  covers: "once" | "conversation" | "session" | "project" | "hours" | "always" | null;
  /** id of the standing approval that the answer left, or that answered it */
  standing: string | null;
  edited: string | null;
  note: string | null;
}

export interface ApprovalList {
  /** give it as `after` to wait for a change */
  seq: number;
  approvals: ApprovalInfo[];
}

export interface ApproveParams {
  /** id of the approval */
  approval: string;
  /** how far the yes goes: one of the question's `choices` */
  covers?: "once" | "conversation" | "session" | "project" | "hours" | "always";
  /** for `hours`: how long; 1 if not given */
  hours?: number | null;
  /** run this instead; it is judged again */
  command_line?: string | null;
  /** run `command_line` although it does what the question did not say, after an answer with the code edit_unconfirmed */
  confirm?: boolean;
  /** the `rule` of the choice that the person was shown; `always` needs it */
  rule?: string | null;
  note?: string | null;
  via?: "page" | "attach" | "cli" | "http";
}

export interface DeclineParams {
  /** id of the approval */
  approval: string;
  /** shown to the caller */
  note?: string | null;
  via?: "page" | "attach" | "cli" | "http";
}

export interface StandingInfo {
  id: string;
  covers: "once" | "conversation" | "session" | "project" | "hours" | "always";
  /** what it covers */
  rule: string;
  actor: string;
  /** only there; null means everywhere */
  session: string | null;
  session_id: string | null;
  /** only there; null means everywhere */
  project: string | null;
  /** of what is let through, where it is no single line */
  classes: string[];
  created_at: string;
  created_by: string;
  via: string;
  /** id of the question that was answered */
  approval: string;
  /** null: until it is revoked, or its session ends */
  expires_at: string | null;
  uses: number;
  used_at: string | null;
}

export interface StandingParams {
  /** id of the standing approval */
  standing: string;
}

export interface AuditParams {
  kind?: "call" | "outcome" | "approval" | "standing" | "rules" | "trail" | null;
  /** name, or kind:name */
  actor?: string | null;
  operation?: string | null;
  session?: string | null;
  /** all records of one call */
  call?: string | null;
  /** as policy made it; `refused`: calls that did not run, by a rule, a person's no or for want of an answer */
  decision?: "allow" | "ask" | "deny" | "refused" | null;
  /** done, or an error's code */
  outcome?: string | null;
  /** anywhere in the record */
  text?: string | null;
  /** seconds ago, at most */
  since_s?: number | null;
  /** seconds ago, at least */
  until_s?: number | null;
  /** only records with a smaller `seq` */
  before?: number | null;
  limit?: number;
}

export interface AuditProblem {
  file: string;
  line: number;
  seq: number | null;
  what: string;
}

export interface AuditVerified {
  intact: boolean;
  records: number;
  first_seq: number | null;
  last_seq: number | null;
  last_hash: string | null;
  files: number;
  /** whether the store knew the ends to compare with */
  anchored: boolean;
  problems: AuditProblem[];
}

export interface UpstreamsParams {
  /** wait until something changed after this seq */
  after?: number | null;
  /** how long to wait for that */
  wait_ms?: number;
}

export interface Difference {
  /** what of the tool is different: description, inputSchema … */
  part: string;
  /** as accepted, with everything that hides made visible */
  was: string | null;
  /** as the upstream says it now, likewise */
  now: string | null;
}

export interface OfferedServer {
  name: string;
  transport: "stdio" | "http";
  /** the command or the address; values that may be secret left out */
  target: string;
  trust: "trusted" | "untrusted" | "sandbox";
  /** of the server's own environment, that it is given */
  variables: string[];
}

export interface ToolInfo {
  /** as the upstream says it */
  name: string;
  /** mcp__UPSTREAM__TOOL, as agents and rules say it; null for a name that cannot be one */
  id: string | null;
  title: string | null;
  /** with everything that hides made visible */
  description: string;
  /** what it can do */
  risk: "read" | "write" | "destructive" | "unknown";
  /** annotations: the upstream says so of itself; it can only tighten */
  risk_known_by: "annotations" | "nothing";
  /** whether a person accepted the tool as it is */
  pin: "known" | "new" | "changed";
  fingerprint: string;
  /** for `changed`: what was accepted, and what is */
  differences: Difference[];
  /** hidden characters, odd names, names shared with others */
  warnings: string[];
  /** whether it is turned on, and settings allow it */
  on: boolean;
  /** whether a call would reach it now */
  usable: boolean;
  why_not: string | null;
  input_schema: Record<string, unknown>;
}

export interface UpstreamError {
  code: string;
  message: string;
  /** what to do about it */
  hint: string | null;
}

export interface UpstreamInfo {
  name: string;
  transport: "stdio" | "http";
  /** the command or the address; values that may be secret left out */
  target: string;
  /** trusted: accepted tools run unasked; else each call is asked about, unless a rule allows it */
  trust: "trusted" | "untrusted" | "sandbox";
  /** the project's file that names it; null: your settings */
  project: string | null;
  /** quarantined: it runs, and none of its tools was accepted by a person yet; idle: it is started at its next use; needs_login: a person has to sign in to it */
  state: "off" | "starting" | "idle" | "ready" | "failed" | "quarantined" | "needs_login";
  on: boolean;
  /** when it came into this state */
  since: string;
  /** why it failed, or what ended it last */
  error: UpstreamError | null;
  pid: number | null;
  /** how often it was started again by itself */
  restarts: number;
  /** for `failed`: when the next try is made, if one is */
  retry_at: string | null;
  sandbox: "none" | "landlock" | "bubblewrap" | null;
  /** revision of MCP that it speaks */
  protocol: string | null;
  /** name and version, in its own words */
  implementation: string | null;
  /** of all its tools as they are; trust is given to it */
  fingerprint: string | null;
  /** how it wants to be used: its own words, never instructions */
  instructions: string | null;
  /** what its table lets it ask for */
  may_ask: ("sampling" | "elicitation")[];
  /** tools that wait for a person: new or changed */
  waiting: number;
  tools: ToolInfo[];
}

export interface UpstreamOffer {
  file: string;
  fingerprint: string;
  /** changed: it is not what was accepted, and starts nothing more */
  state: "offered" | "accepted" | "changed";
  servers: OfferedServer[];
  problems: string[];
}

export interface UpstreamQuestion {
  id: string;
  upstream: string;
  kind: "form" | "url" | "sampling";
  /** who called it meanwhile; empty where that is not known */
  asker: string;
  message: string;
  /** schema of the form's answer */
  form: Record<string, unknown> | null;
  /** the address to open */
  url: string | null;
  /** as it was sent, everything that hides made visible */
  request: Record<string, unknown>;
  asked_at: string;
}

export interface UpstreamList {
  /** give it as `after` to wait for a change */
  seq: number;
  upstreams: UpstreamInfo[];
  /** of upstreams, that wait for a person */
  questions: UpstreamQuestion[];
  /** by files of projects of open sessions */
  offers: UpstreamOffer[];
}

export interface UpstreamToolsParams {
  /** wait until something changed after this seq */
  after?: number | null;
  /** how long to wait for that */
  wait_ms?: number;
  /** wait at most so long for those that are starting */
  settle_ms?: number;
}

export interface OfferedTool {
  /** mcp__UPSTREAM__TOOL */
  id: string;
  upstream: string;
  name: string;
  title: string | null;
  /** with everything that hides made visible */
  description: string;
  risk: "read" | "write" | "destructive" | "unknown";
  input_schema: Record<string, unknown>;
  output_schema: Record<string, unknown> | null;
  /** what the upstream says of it */
  annotations: Record<string, unknown> | null;
  /** how far its upstream is trusted */
  trust: "trusted" | "untrusted" | "sandbox";
  /** a person wants it listed always */
  marked: boolean;
  /** how often it was called */
  uses: number;
}

export interface UpstreamTools {
  /** give it as `after` to wait for a change */
  seq: number;
  /** how often an upstream reported other resources */
  resource_changes: number;
  /** the same of prompts */
  prompt_changes: number;
  /** of more tools agents are shown those marked and most used, and find_tools */
  list_at_most: number;
  tools: OfferedTool[];
}

export interface TurnParams {
  /** name of the upstream */
  upstream: string;
  /** whether it may be used; turning something on is a person's */
  on: boolean;
  /** one tool; the whole upstream when left out */
  tool?: string | null;
}

export interface UpstreamParams {
  /** name of the upstream */
  upstream: string;
}

export interface LoginParams {
  /** name of the upstream */
  upstream: string;
  /** the address that the browser was sent to, where that is not on the server's machine */
  returned?: string | null;
}

export interface LoginPage {
  upstream: string;
  /** the page to open; null: `returned` was taken */
  url: string | null;
}

export interface TrustParams {
  /** name of the upstream */
  upstream: string;
  /** of the upstream as it was shown: what changed since is not accepted unseen */
  fingerprint: string;
  /** those to accept; all that wait when left out */
  tools?: string[] | null;
}

export interface AcceptParams {
  /** the project's file */
  file: string;
  /** of the file as it was shown */
  fingerprint: string;
}

export interface OfferParams {
  /** the project's file */
  file: string;
}

export interface CallToolParams {
  /** name of the upstream */
  upstream: string;
  /** as the upstream says it */
  tool: string;
  arguments?: Record<string, unknown>;
  /** the upstream's own timeout when left out */
  timeout_ms?: number | null;
}

export interface ToolResult {
  content: Record<string, unknown>[];
  structured_content: unknown;
  is_error: boolean;
  meta: Record<string, unknown> | null;
  /** what let the call pass: trust:LEVEL, rule:NAME, or person */
  decided_by: string;
}

export interface UpstreamListParams {
  /** name of the upstream */
  upstream: string;
  /** how long after its start a list that did not come is waited for */
  late_ms?: number | null;
}

export interface UpstreamResources {
  /** as the upstream lists them */
  resources: Record<string, unknown>[];
  templates: Record<string, unknown>[];
}

export interface ReadUpstreamParams {
  /** name of the upstream */
  upstream: string;
  /** as the upstream says it */
  uri: string;
}

export interface ResourceContents {
  contents: Record<string, unknown>[];
  meta: Record<string, unknown> | null;
}

export interface UpstreamPrompts {
  /** as the upstream lists them */
  prompts: Record<string, unknown>[];
}

export interface PromptParams {
  /** name of the upstream */
  upstream: string;
  prompt: string;
  arguments?: Record<string, string>;
}

export interface PromptText {
  description: string | null;
  messages: Record<string, unknown>[];
}

export interface CompleteParams {
  /** name of the upstream */
  upstream: string;
  kind: "prompt" | "resource";
  /** the prompt, or the template of the resource */
  about: string;
  /** the place to complete */
  argument: string;
  /** what stands there already */
  value?: string;
  /** what other places hold */
  given?: Record<string, string>;
}

export interface Completions {
  /** the upstream's words */
  values: string[];
}

export interface FindToolsParams {
  /** what the tool should do, in plain words */
  query: string;
  limit?: number;
  /** go on behind so many; `next` of the answer before */
  offset?: number;
}

export interface FoundTool {
  /** mcp__UPSTREAM__TOOL */
  id: string;
  upstream: string;
  title: string | null;
  /** its beginning, everything that hides made visible */
  description: string;
  /** its first sentence */
  lead: string;
  /** names of what it takes; a `?` may be left out */
  parameters: string[];
  input_schema: Record<string, unknown>;
}

export interface FoundTools {
  /** the best first, those that do not fit last */
  tools: FoundTool[];
  /** how many of all have a word of it */
  fits: number;
  /** how many there are that the caller may call */
  of: number;
  /** the offset of those behind these; null: that was all */
  next: number | null;
}

export interface DescribeToolParams {
  /** mcp__UPSTREAM__TOOL */
  tool: string;
}

export interface MarkParams {
  /** name of the upstream */
  upstream: string;
  /** as the upstream says it */
  tool: string;
  /** whether it is listed always, however many tools there are */
  on?: boolean;
}

export interface LogsParams {
  upstream?: string | null;
  /** this and graver ones */
  level?: "debug" | "info" | "notice" | "warning" | "error" | "critical" | "alert" | "emergency";
  /** have upstreams asked for this level, where they tell less */
  want?: boolean;
  /** messages after this number */
  after?: number | null;
  /** how long to wait for one */
  wait_ms?: number;
}

export interface UpstreamLog {
  seq: number;
  upstream: string;
  at: string;
  level: "debug" | "info" | "notice" | "warning" | "error" | "critical" | "alert" | "emergency";
  logger: string | null;
  text: string;
}

export interface UpstreamLogs {
  /** give it as `after` to wait for the next */
  seq: number;
  /** oldest first; the last thousand are kept */
  messages: UpstreamLog[];
  /** the end of what its program printed as errors */
  stderr: string;
}

export interface UpdatesParams {
  /** name of the upstream */
  upstream: string;
  /** as the upstream says it */
  uri: string;
  /** wait for more than so many */
  after?: number | null;
  /** how long to wait for that */
  wait_ms?: number;
}

export interface Updates {
  /** how often the upstream reported a change of it while it was watched */
  count: number;
}

export interface AnswerParams {
  /** its id */
  question: string;
  action: "accept" | "decline" | "cancel";
  /** what the form asks for; for a completion its `text` */
  content?: Record<string, unknown>;
}

export interface SendParams {
  /** what to say; @PATH, @block:ID, @session and @mcp:SERVER/RESOURCE add what they name */
  text: string;
  /** go on with this one; a new one when left out */
  conversation?: string | null;
  /** where a new one works; a session of its own when left out */
  session?: string | null;
  /** directory of that session of its own; the user's home when left out */
  cwd?: string | null;
  /** all that a new one opens is confined, and it touches nothing else */
  sandbox?: "any" | "landlock" | "bubblewrap" | null;
  /** what it may write there; a person's to say */
  workspaces?: string[] | null;
  /** text that the message is about, such as output of a command */
  attached?: string | null;
  /** wait at most so long for the agent to have answered */
  wait_ms?: number;
  /** the caller will ask for events at once, and show questions to a person */
  attends?: boolean;
}

export interface ConversationInfo {
  id: string;
  /** the beginning of its first message */
  title: string;
  created_at: string;
  /** where it works */
  session: string | null;
  state: "idle" | "running" | "awaiting_approval" | "failed";
  /** the step it is at; null while it does nothing */
  doing: string | null;
  /** why it ended as it did */
  reason: string | null;
  /** error code of that, where it failed */
  code: string | null;
  /** the question that it waits for */
  approval: ApprovalInfo | null;
  /** requests to the model since its last message */
  turns: number;
  tokens_in: number;
  tokens_out: number;
  /** null: the price is not known */
  cost_usd: number | null;
  /** of its last entry */
  seq: number;
  /** differs whenever state, step or question do */
  state_key: string;
}

export interface SentMessage {
  info: ConversationInfo;
  /** of the message; what follows answers it */
  seq: number;
  /** the agent's answer, where the call waited for it */
  answer: string | null;
}

export interface ConversationsParams {
  limit?: number;
}

export interface ConversationParams {
  /** id of the conversation, or its beginning */
  conversation: string;
}

export interface ConversationEntryInfo {
  seq: number;
  at: string;
  kind: "message" | "context" | "answer" | "call" | "result" | "told" | "summary" | "fault" | "limit" | "state";
  /** what there is to say, by kind; see docs/agent.md */
  body: Record<string, unknown>;
}

export interface ConversationDetail {
  info: ConversationInfo;
  entries: ConversationEntryInfo[];
}

export interface EventsParams {
  /** id of the conversation, or its beginning */
  conversation: string;
  /** entries after this seq */
  after?: number;
  /** of the answer that is being written, the text behind these characters */
  text_after?: number;
  /** wait at most so long for news */
  wait_ms?: number;
  /** the last `info.state_key` that you got: a change of it is news too */
  known_state?: string | null;
  /** the caller shows questions to a person, who can answer them */
  attends?: boolean;
}

export interface ConversationEvents {
  info: ConversationInfo;
  entries: ConversationEntryInfo[];
  /** the new text of an answer that is not complete yet */
  partial: string;
  /** how long that answer is by now */
  partial_chars: number;
}

export interface ConversationLog {
  conversation: string;
  markdown: string;
}

export interface AgentStatusParams {
  /** the one that did something last when left out */
  conversation?: string | null;
  /** also ask the model's provider about address, key and name; costs nothing */
  check?: boolean;
}

export interface ModelCheck {
  /** null: nothing is wrong, as far as it could be asked */
  code: string | null;
  message: string;
  hint: string;
}

export interface AgentStatus {
  state: "idle" | "running" | "awaiting_approval" | "failed" | "not_configured";
  /** as set; null: none is */
  model: string | null;
  /** what it is doing, or what to set */
  message: string;
  /** what the provider says; with check only */
  checked: ModelCheck | null;
  conversation: ConversationInfo | null;
  /** conversations at work */
  working: number;
}

export interface CompleteMentionParams {
  /** what stands behind the @, so far */
  text: string;
  /** whose directory and workspace is meant */
  session?: string | null;
}

export interface Mentions {
  /** what could stand behind the @ */
  values: string[];
}

export interface PolicyRule {
  name: string;
  decide: "deny" | "ask" | "allow";
  why: string;
  where: string;
}

export interface PolicyInfo {
  profile: string;
  digest: string;
  rules: PolicyRule[];
}

export interface PolicyCheckParams {
  command: string;
  cwd?: string;
  mode?: "interactive" | "headless";
}

export interface PolicyAnswer {
  decision: "allow" | "ask" | "deny";
  reason: string;
  rule: string;
  classes: string[];
  detail: string | null;
  suggestion: string | null;
  /** whether a person is there who could be asked */
  can_ask: boolean;
}

export interface PolicyWhyParams {
  /** a command line */
  command?: string | null;
  /** or a tool of an upstream: mcp__SERVER__TOOL */
  tool?: string | null;
  cwd?: string;
  mode?: "interactive" | "headless";
  /** as if this were the profile; without it, the one in force */
  profile?: "open" | "guarded" | "strict" | null;
  /** who would call: agent, person or node, or KIND:NAME */
  actor?: string;
  dialect?: string;
  /** of the session */
  tags?: string[];
  /** as if these were the person's rules */
  text?: string | null;
}

export interface FoundInfo {
  /** of the class */
  name: string;
  what: string;
  reason: string;
  instead: string;
  grave: boolean;
}

export interface RuleMatch {
  name: string;
  decide: "deny" | "ask" | "allow";
  where: string;
  why: string;
  /** false for one whose other conditions hold, but not its command */
  is_meant: boolean;
}

export interface PolicyWhy {
  decision: "deny" | "ask" | "allow";
  reason: string;
  rule: string;
  profile: string;
  classes: string[];
  detail: string | null;
  suggestion: string | null;
  /** what a person would be asked */
  question: string | null;
  /** whether a person is there who could be asked */
  can_ask: boolean;
  /** the line with everything that hides made visible */
  shown: string | null;
  /** its commands, word by word, where it is literal */
  words: string[][] | null;
  /** why it is not, and at which character */
  not_literal: string | null;
  /** why it is not known to only read */
  not_proven: string | null;
  /** headless: what would run in its place */
  runs_as: string | null;
  /** what it may run, as far as can be seen */
  commands: string[][];
  /** what is destructive in it */
  found: FoundInfo[];
  /** parts that cannot be read */
  unreadable: string[];
  /** rules that apply to such a call */
  rules: RuleMatch[];
}

export interface RulesParams {
  /** whose project's rules to list too; without it, those of all open sessions */
  cwd?: string | null;
}

export interface ClassInfo {
  name: string;
  reason: string;
  instead: string;
  /** no rule can allow it: a person answers each time */
  grave: boolean;
}

export interface ProjectProblem {
  file: string;
  message: string;
}

export interface RuleInfo {
  name: string;
  decide: "deny" | "ask" | "allow";
  /** shipped with Duetty, config.toml, a project's file, or a standing approval */
  source: "shipped" | "config" | "project" | "standing";
  /** file and line */
  where: string;
  why: string;
  /** operation, actor, dialect, tag, mode, cwd, command, tool: all given ones must hold */
  conditions: Record<string, string[]>;
  /** classes that it allows all the same */
  even_destructive: string[];
  /** examples, checked when the rules are loaded */
  matches: string[];
  not_matches: string[];
  /** false for shipped rules in the profile `open` */
  in_force: boolean;
  /** the operation that changes it; null where only its file does */
  change_with: "rules.save" | "approval.revoke" | null;
  /** id, for `approval.revoke` */
  standing: string | null;
  /** the only session it is for */
  session: string | null;
}

export interface RuleList {
  profile: string;
  /** of the rules in force, projects left out */
  digest: string;
  file: string;
  /** of the text of the person's rules in force */
  hash: string;
  /** false when the file was changed since; saving or a restart puts it in force */
  is_current: boolean;
  rules: RuleInfo[];
  classes: ClassInfo[];
  /** projects whose rules cannot be read */
  problems: ProjectProblem[];
}

export interface RulesText {
  file: string;
  /** the [[policy.rules]] tables of it */
  text: string;
  hash: string;
  exists: boolean;
  changeable: boolean;
  /** why it cannot be changed from here */
  problem: string | null;
}

export interface RulesCheckParams {
  /** [[policy.rules]] tables, as TOML */
  text: string;
}

export interface LineChange {
  command_line: string;
  cwd: string;
  before: "deny" | "ask" | "allow";
  after: "deny" | "ask" | "allow";
  /** that decides then */
  rule: string;
}

export interface RuleChange {
  name: string;
  change: "added" | "removed" | "changed";
  before: RuleInfo | null;
  after: RuleInfo | null;
}

export interface RulesProblem {
  line: number;
  column: number;
  message: string;
  hint: string | null;
  rule: string | null;
}

export interface RulesChecked {
  good: boolean;
  problems: RulesProblem[];
  /** of the text, where it is good */
  rules: RuleInfo[];
  /** of this text */
  hash: string;
  /** of the text in the file now: give it to `rules.save` */
  base: string;
  /** against the rules in force */
  changes: RuleChange[];
  /** of the texts, unified */
  diff: string;
  /** lines of the trail that would be decided otherwise; null without the scope admin */
  lines: LineChange[] | null;
}

export interface RulesSaveParams {
  /** [[policy.rules]] tables, as TOML */
  text: string;
  /** `hash` of the text that this one was made from */
  base: string;
}

export interface RulesSaved {
  hash: string;
  digest: string;
  changes: RuleChange[];
}

export interface Operations {
  /** Whether the server answers. */
  "server.health": { params: Nothing; result: Health };
  /** The server: address, processes, sessions, and what does not work as promised. */
  "server.status": { params: Nothing; result: ServerStatus };
  /** What callers share: so many in all, for one credential, for one other machine, kept for people, held now. */
  "server.limits": { params: Nothing; result: ServerLimits };
  /** End the server; with its sessions, or leaving them to the keeper. */
  "server.stop": { params: StopParams; result: Done };
  /** A link that signs one browser in, once; on a hub, as one of its users. */
  "server.link": { params: LinkParams; result: Link };
  /** Whether the server stays when no session and no client is left. */
  "server.persistent": { params: Nothing; result: Persistent };
  /** Make the server stay, or end when no session and no client is left. */
  "server.persist": { params: PersistParams; result: Persistent };
  /** This server, and those that it speaks for: where each is and how it is. */
  "server.list": { params: Nothing; result: ServerInfo[] };
  /** Speak for another server too: its sessions are listed, and reached with `server`. */
  "server.add": { params: AddServerParams; result: ServerAdded };
  /** One server: this one, or one that it speaks for. */
  "server.get": { params: ServerParams; result: ServerInfo };
  /** Speak for a server no more; nothing changes on it. */
  "server.remove": { params: ServerParams; result: Done };
  /** Join a hub: dial it, prove who this machine is, and serve what its user asks through it. */
  "server.join": { params: JoinParams; result: HubInfo };
  /** Leave the hub that this server joined. */
  "server.leave": { params: Nothing; result: HubInfo };
  /** The hub that this server joined, and how the connection to it is. */
  "server.hub": { params: Nothing; result: HubInfo };
  /** The users of this hub. */
  "user.list": { params: Nothing; result: UserInfo[] };
  /** Every machine that joined this hub, and whose it is. */
  "user.machines": { params: Nothing; result: MachineInfo[] };
  /** List a machine no more that is away; it may join again. */
  "user.forget_machine": { params: ServerParams; result: Done };
  /** Add a user to this hub; a token for them is made next. */
  "user.add": { params: UserParams; result: UserInfo };
  /** Remove a user: their tokens end now, and with them their machines and connections. */
  "user.remove": { params: UserParams; result: Done };
  /** Make a token for a user: for an agent, for a machine that joins, or the person's own. */
  "user.token": { params: UserTokenParams; result: NewUserToken };
  /** Share a session with another user of the hub: watch, drive or moderate, for a time. */
  "share.add": { params: ShareSessionParams; result: ShareInfo };
  /** What this user shares, and what was shared with them. */
  "share.list": { params: Nothing; result: ShareInfo[] };
  /** End a share: what it holds open is closed now. */
  "share.revoke": { params: ShareParams; result: Done };
  /** The tool hosts that joined this hub: what each shows, and its tools. */
  "room.list": { params: Nothing; result: RoomInfo[] };
  /** The same with the number of the last change; waits for one after it. */
  "room.tools": { params: RoomToolsParams; result: RoomTools };
  /** Call a tool of a tool host; the arguments are checked against what it announced. */
  "room.call": { params: RoomCallParams; result: RoomResult };
  /** A token for some scopes, perhaps one session and a time; it is shown this once. */
  "token.create": { params: TokenCreateParams; result: NewToken };
  /** Tokens and signed-in browsers: what each may do, and when it was last used. */
  "token.list": { params: Nothing; result: TokenInfo[] };
  /** Refuse a token from now on and close the connections it holds. */
  "token.revoke": { params: TokenParams; result: Done };
  /** A ticket that opens one WebSocket within 30 seconds: `?ticket=`. */
  "auth.ticket": { params: Nothing; result: Ticket };
  /** Who this credential is, and what it allows. */
  "auth.whoami": { params: Nothing; result: WhoAmI };
  /** Sign this browser out. */
  "auth.signout": { params: Nothing; result: Done };
  /** Open a session: a shell or a command on a new PTY. */
  "session.open": { params: OpenParams; result: SessionInfo };
  /** List the sessions, exited ones included, with what each is doing. */
  "session.list": { params: ListParams; result: SessionInfo[] };
  /** The session that a call means that names none: the only active one, or the one chosen before. */
  "session.select": { params: SelectParams; result: SelectedSession };
  /** One session: name, process, size, tags, state and how it is known. */
  "session.get": { params: SessionParams; result: SessionInfo };
  /** Rename a session, add and remove tags, set its workspace; all of it or nothing. */
  "session.update": { params: UpdateParams; result: SessionInfo };
  /** Change the size of a session's terminal. */
  "session.resize": { params: ResizeParams; result: SessionInfo };
  /** Send a signal to the foreground program or to the session's processes. */
  "session.signal": { params: SignalParams; result: Done };
  /** End a session's processes, politely and then by KILL; it stays readable. */
  "session.close": { params: CloseParams; result: SessionInfo };
  /** End a session and forget its screen and journal; its history stays. */
  "session.remove": { params: CloseParams; result: Done };
  /** Send every attached terminal away; pages and programs that look stay. */
  "session.detach": { params: SessionParams; result: Done };
  /** Wait until any session has been silent for a while, and say which. */
  "session.any_idle": { params: AnyIdleParams; result: AnyIdle };
  /** Write bytes to a session, verbatim. */
  "input.write": { params: WriteParams; result: Written };
  /** Press named keys, encoded as the program's terminal mode asks for. */
  "input.press": { params: PressParams; result: Written };
  /** Paste text, bracketed when the program asked for it. */
  "input.paste": { params: PasteParams; result: Written };
  /** Do what Ctrl-C does. */
  "input.interrupt": { params: SessionParams; result: Done };
  /** Back to the shell's prompt: end what has the terminal, clear the line, put the terminal right. */
  "session.reset": { params: SessionParams; result: SessionInfo };
  /** Whether keys typed at viewers go to the program or are captured. */
  "input.mode": { params: SessionParams; result: ModeInfo };
  /** Take the keys typed at viewers, until released or the lease ends. */
  "input.capture": { params: CaptureParams; result: Done };
  /** Give the keyboard back to the program and take the focus away. */
  "input.release": { params: ReleaseParams; result: Done };
  /** Which overlay or panel the keys are meant for. */
  "input.focused": { params: SessionParams; result: FocusInfo };
  /** Say that the keys are meant for this overlay or panel. */
  "input.focus": { params: FocusParams; result: Done };
  /** Say that the keys are meant for no element. */
  "input.unfocus": { params: SessionParams; result: Done };
  /** Captured keys after a seq, waiting for one if asked; renews the reader's lease. */
  "input.keys": { params: KeysParams; result: KeysInfo };
  /** Type as a person at a viewer does: subject to capture, Ctrl+\ toggles it. */
  "input.type": { params: TypeParams; result: Typed };
  /** Draw a box of text above a session's screen, for every viewer. */
  "overlay.create": { params: CreateOverlayParams; result: Created };
  /** The overlays of the current screen mode, lowest first. */
  "overlay.list": { params: SessionParams; result: OverlayInfo[] };
  /** One overlay, of either screen mode. */
  "overlay.get": { params: ElementParams; result: OverlayInfo };
  /** Replace an overlay's spans. */
  "overlay.update": { params: UpdateOverlayParams; result: Done };
  /** Move, resize or restack an overlay, or change what it shows. */
  "overlay.patch": { params: PatchOverlayParams; result: Done };
  /** Take an overlay away; what was under it shows again. */
  "overlay.delete": { params: ElementParams; result: Done };
  /** Take every overlay away, of both screen modes. */
  "overlay.clear": { params: SessionParams; result: Done };
  /** Replace the named spans of an overlay and leave the others. */
  "overlay.spans": { params: SpansParams; result: Done };
  /** Write text at places of an overlay. */
  "overlay.write": { params: RegionWriteParams; result: Done };
  /** Take rows from an edge of a session's screen and show text there. */
  "panel.create": { params: CreatePanelParams; result: Created };
  /** The panels of the current screen mode: top first, then highest z first. */
  "panel.list": { params: SessionParams; result: PanelInfo[] };
  /** One panel, of either screen mode, and whether there is room for it. */
  "panel.get": { params: ElementParams; result: PanelInfo };
  /** Replace a panel's place, height and spans. */
  "panel.update": { params: UpdatePanelParams; result: Done };
  /** Move, resize or restack a panel, or change what it shows. */
  "panel.patch": { params: PatchPanelParams; result: Done };
  /** Take a panel away; the program gets its rows back. */
  "panel.delete": { params: ElementParams; result: Done };
  /** Take every panel away, of both screen modes. */
  "panel.clear": { params: SessionParams; result: Done };
  /** Replace the named spans of a panel and leave the others. */
  "panel.spans": { params: SpansParams; result: Done };
  /** Write text at places of a panel. */
  "panel.write": { params: RegionWriteParams; result: Done };
  /** Everything drawn over and beside the program, with the sizes: what a viewer draws. */
  "elements.get": { params: SessionParams; result: SurfaceInfo };
  /** Replace named spans and write at places of one element, all of it or nothing. */
  "elements.batch": { params: BatchParams; result: Done };
  /** Which set of elements is shown, normal or alt. */
  "screen_mode.get": { params: SessionParams; result: ScreenModeInfo };
  /** Hide the normal overlays and panels and begin a second, empty set. */
  "screen_mode.enter_alt": { params: SessionParams; result: Done };
  /** Delete the second set of overlays and panels and show the normal ones again. */
  "screen_mode.exit_alt": { params: SessionParams; result: Done };
  /** The visible screen, as text or as styled spans. */
  "screen.get": { params: ScreenParams; result: TimedScreenShape };
  /** Rows of scrollback and screen, by offset from either end. */
  "scrollback.get": { params: ScrollbackParams; result: ScrollbackShape };
  /** The session's commands, newest first, with exit code, directory and duration. */
  "block.list": { params: BlocksParams; result: BlockInfo[] };
  /** Lines of one command's output, by range. */
  "block.output": { params: BlockOutputParams; result: BlockOutput };
  /** What a session printed, as text, from a cursor on; may wait for more. */
  "output.read": { params: ReadOutputParams; result: ReadOutput };
  /** Every command of every session, newest first. */
  "history.list": { params: HistoryParams; result: BlockInfo[] };
  /** Search command lines and output of everything that was ever run. */
  "history.search": { params: SearchParams; result: SearchHit[] };
  /** The directory that a session is in, and its workspace. */
  "context.cwd": { params: ContextParams; result: Directory };
  /** The repository that a session is in: branch, ahead and behind, staged, modified, untracked; runs no program of the repository's. */
  "context.git": { params: ContextParams; result: GitState };
  /** What happened in a session, as Markdown: commands, exit codes, bounded output, the agent's messages and calls; calls of others and approvals for who may see them. */
  "context.log": { params: LogParams; result: SessionLog };
  /** A file below a session's workspace; none that may hold secrets. */
  "file.read": { params: FileReadParams; result: FileContent };
  /** List a directory below a session's workspace. */
  "file.list": { params: FileParams; result: FileList };
  /** Type a command line into a session and wait for its end. */
  "command.run": { params: RunParams; result: RunResult };
  /** Commands that this caller stopped waiting for and that have ended since; each is returned once. */
  "command.ended": { params: Nothing; result: Ended[] };
  /** Commands that this caller stopped waiting for and whose end no answer to it has had yet. */
  "command.left": { params: Nothing; result: LeftRunning[] };
  /** Wait for silence, a text, the end of a command, a state or the exit. */
  "session.wait": { params: WaitParams; result: WaitResult };
  /** Wait until the session has printed nothing for a while. */
  "session.idle": { params: IdleParams; result: Idle };
  /** The screen as a document: bytes for a terminal, a page, or a picture. */
  "session.snapshot": { params: SnapshotParams; result: Document };
  /** Everything the session printed that is kept, with times, as an asciicast; messages to and of the agent are its markers. */
  "session.recording": { params: RecordingParams; result: Document };
  /** Run a command in a process of its own, without a terminal, and wait for its end. */
  "process.run": { params: RunProcessParams; result: RunProcessResult };
  /** Start a command in a process of its own, without a terminal, and leave it running. */
  "process.start": { params: StartProcessParams; result: ProcessInfo };
  /** List the commands without a terminal, ended ones that are still readable included. */
  "process.list": { params: Nothing; result: ProcessInfo[] };
  /** What a command printed on each of its streams, from an offset on. */
  "process.read": { params: ReadProcessParams; result: ProcessOutput };
  /** End a command and everything it started, politely and then by KILL. */
  "process.stop": { params: StopProcessParams; result: ProcessInfo };
  /** The terminal contract: execute, read_output, terminate, list, in one request shape. */
  "terminal.act": { params: TerminalParams; result: TerminalAnswer };
  /** Questions that wait for a person; waits for the next change when asked to. */
  "approval.list": { params: ApprovalsParams; result: ApprovalList };
  /** Say yes to a question: once, or for the session, the project, a time, or always. A person's. */
  "approval.approve": { params: ApproveParams; result: ApprovalInfo };
  /** Say no to a question. A person's. */
  "approval.decline": { params: DeclineParams; result: ApprovalInfo };
  /** Answers that also cover later calls: what, until when, given by whom, how often used. */
  "approval.standing": { params: Nothing; result: StandingInfo[] };
  /** Take a standing approval back. A person's. */
  "approval.revoke": { params: StandingParams; result: Done };
  /** What was called, decided, asked and answered, newest first. */
  "audit.list": { params: AuditParams; result: Record<string, unknown>[] };
  /** Read the whole audit trail and name every record that was changed or is missing. */
  "audit.verify": { params: Nothing; result: AuditVerified };
  /** The audit trail as it stands, oldest first, as JSON lines. */
  "audit.export": { params: Nothing; result: Document };
  /** MCP servers behind this one: state, tools, and what waits for a person's trust. */
  "upstreams.list": { params: UpstreamsParams; result: UpstreamList };
  /** Tools of upstreams that the caller may call now, as agents get them. */
  "upstreams.tools": { params: UpstreamToolsParams; result: UpstreamTools };
  /** Turn an upstream, or one of its tools, on (a person's) or off; it stays so. */
  "upstreams.turn": { params: TurnParams; result: UpstreamInfo };
  /** End an upstream and start it as the settings file says now; null if it says it is gone. A person's. */
  "upstreams.restart": { params: UpstreamParams; result: UpstreamInfo | null };
  /** The page on which a person signs in to an upstream that asks for it; it starts when that is done. A person's. */
  "upstreams.login": { params: LoginParams; result: LoginPage };
  /** Accept new or changed tools of an upstream as they were shown. A person's. */
  "upstreams.trust": { params: TrustParams; result: UpstreamInfo };
  /** Start the servers that a project's file names, as it was shown. A person's. */
  "upstreams.accept": { params: AcceptParams; result: UpstreamInfo[] };
  /** End the servers of a project's file, and forget that it was accepted. */
  "upstreams.withdraw": { params: OfferParams; result: Done };
  /** Call a tool of an upstream; rules know it as mcp__UPSTREAM__TOOL. */
  "upstreams.call": { params: CallToolParams; result: ToolResult };
  /** Resources and templates of an upstream, as it lists them. */
  "upstreams.resources": { params: UpstreamListParams; result: UpstreamResources };
  /** Read a resource of an upstream. */
  "upstreams.read": { params: ReadUpstreamParams; result: ResourceContents };
  /** Prompts of an upstream, as it lists them. */
  "upstreams.prompts": { params: UpstreamListParams; result: UpstreamPrompts };
  /** Get a prompt of an upstream, filled in. */
  "upstreams.prompt": { params: PromptParams; result: PromptText };
  /** What may stand at a place of an upstream's prompt or resource, in its words. */
  "upstreams.complete": { params: CompleteParams; result: Completions };
  /** Tools of upstreams that fit some words, of those that the caller may call now. */
  "upstreams.find": { params: FindToolsParams; result: FoundTools };
  /** One tool of an upstream, whole, with its schemas. */
  "upstreams.describe": { params: DescribeToolParams; result: OfferedTool };
  /** Have a tool listed to agents always, however many there are. A person's. */
  "upstreams.mark": { params: MarkParams; result: UpstreamInfo };
  /** What upstreams log, and the end of what one's program prints as errors. */
  "upstreams.logs": { params: LogsParams; result: UpstreamLogs };
  /** Wait until an upstream tells that a resource of it has changed. */
  "upstreams.updates": { params: UpdatesParams; result: Updates };
  /** Answer a question of an upstream: a form, an address to open, a completion. A person's. */
  "upstreams.answer": { params: AnswerParams; result: Done };
  /** Say something to the agent, in a new conversation or one that there is. */
  "agent.send": { params: SendParams; result: SentMessage };
  /** Conversations with the agent, newest first. */
  "agent.list": { params: ConversationsParams; result: ConversationInfo[] };
  /** A conversation with every message, call and result. */
  "agent.show": { params: ConversationParams; result: ConversationDetail };
  /** What happened in a conversation since, word by word; waits for news if there are none. */
  "agent.events": { params: EventsParams; result: ConversationEvents };
  /** Stop the agent in the middle; what runs in its session is left, or interrupted. */
  "agent.stop": { params: StopParams; result: ConversationInfo };
  /** Let the agent go on where it was stopped, failed, or ended with a server; nothing runs twice. */
  "agent.resume": { params: ConversationParams; result: ConversationInfo };
  /** A conversation as Markdown. */
  "agent.log": { params: ConversationParams; result: ConversationLog };
  /** What the agent is doing, and what to set where there is no model. */
  "agent.status": { params: AgentStatusParams; result: AgentStatus };
  /** What could stand behind an @ in a message. */
  "agent.complete": { params: CompleteMentionParams; result: Mentions };
  /** The profile and the rules in force. */
  "policy.show": { params: Nothing; result: PolicyInfo };
  /** What would become of a command line of an agent; nothing runs. */
  "policy.check": { params: PolicyCheckParams; result: PolicyAnswer };
  /** The same in full: how the line is read, which rules apply, what would be asked. */
  "policy.why": { params: PolicyWhyParams; result: PolicyWhy };
  /** Every rule and where it comes from: shipped, config.toml, projects, standing approvals. */
  "rules.list": { params: RulesParams; result: RuleList };
  /** The person's rules as text, to be changed. */
  "rules.text": { params: Nothing; result: RulesText };
  /** Judge a new text of rules: what is wrong with it, and what it would change. */
  "rules.check": { params: RulesCheckParams; result: RulesChecked };
  /** Put a new text of rules in the settings file and in force, at once. A person's. */
  "rules.save": { params: RulesSaveParams; result: RulesSaved };
}
