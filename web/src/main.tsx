import "@xterm/xterm/css/xterm.css";
import "./styles/tokens.css";
import "./styles/base.css";
import "./screens/shell.module.css";
import "./screens/session.module.css";
import "./screens/pages.module.css";
import "./ui/ui.module.css";
import { render } from "preact";
import { socket } from "./protocol/socket";
import { Shell } from "./screens/Shell";
import { listenForKeys } from "./state/keys";

// Relative to the address the page came by; the address changes as people move on.
for (const link of document.querySelectorAll<HTMLLinkElement>("link[rel=icon],link[rel=manifest]")) link.href = link.href;

const place = document.getElementById("page");
if (place) {
  socket.start();
  socket.watchSessions();
  listenForKeys();
  render(<Shell />, place);
  void import("./state/alerts").then((loaded) => loaded.watchForAlerts()); // not before something is shown
}
