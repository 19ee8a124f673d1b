// The server's terminal answers what programs ask. Several viewers answering as well would type into the shell.
import type { Terminal } from "@xterm/xterm";

export function muteReplies(term: Terminal): void {
  const eat = () => true;
  const parser = term.parser;
  for (const id of [
    { final: "c" },
    { prefix: ">", final: "c" },
    { prefix: "=", final: "c" },
    { final: "n" },
    { prefix: "?", final: "n" },
    { intermediates: "$", final: "p" },
    { prefix: "?", intermediates: "$", final: "p" },
    { prefix: ">", final: "q" },
    { final: "t" },
    { prefix: "?", final: "u" },
  ])
    parser.registerCsiHandler(id, eat);
  for (const number of [4, 10, 11, 12]) parser.registerOscHandler(number, (data) => data.includes("?"));
  parser.registerDcsHandler({ intermediates: "$", final: "q" }, eat);
  parser.registerDcsHandler({ intermediates: "+", final: "q" }, eat);
}

/**
 * xterm 6.0 never follows again when a program clears the scrollback while a person has scrolled up.
 * Runs before xterm's own; fixed upstream in 6.1.
 */
export function followAfterClear(term: Terminal): void {
  term.parser.registerCsiHandler({ final: "J" }, (params) => {
    if (params[0] === 3 && term.buffer.active.type === "normal") term.scrollToBottom();
    return false;
  });
}
