// WebGL on a real GPU, for the terminal that has the attention; the DOM everywhere else. Browsers take contexts away
// beyond sixteen, and drawing by a software GL is three to seven times slower than the DOM.
import type { Terminal } from "@xterm/xterm";

let usable: boolean | undefined;

function hasGpu(): boolean {
  if (usable !== undefined) return usable;
  const context = document.createElement("canvas").getContext("webgl2");
  const name = context?.getExtension("WEBGL_debug_renderer_info");
  const renderer = context && name ? String(context.getParameter(name.UNMASKED_RENDERER_WEBGL)) : "software";
  context?.getExtension("WEBGL_lose_context")?.loseContext();
  usable = !/swiftshader|llvmpipe|software|basic render/i.test(renderer);
  return usable;
}

/** Draw by WebGL until the returned function is called, or the browser takes the context away. */
export async function leaseWebgl(term: Terminal): Promise<() => void> {
  if (!hasGpu()) return () => {};
  const { WebglAddon } = await import("@xterm/addon-webgl");
  const addon = new WebglAddon();
  let ended = false;
  const end = () => {
    if (ended) return;
    ended = true;
    addon.dispose();
    term.refresh(0, term.rows - 1);
  };
  addon.onContextLoss(end);
  try {
    term.loadAddon(addon);
  } catch {
    end();
  }
  return end;
}
