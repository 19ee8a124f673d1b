// What agents draw over and beside the program, always with the name of who drew it and a way to be rid of it.
import type { CSSProperties } from "preact";
import type { Elements, SizeMessage } from "../protocol/messages";
import type { OverlayInfo, PanelInfo } from "../protocol/operations";
import { shownTheme } from "../state/prefs";
import { px } from "../ui/ui";
import css from "../screens/session.module.css";
import { type Colour, colour, pieces, runsOf } from "./drawn";
import { themes } from "./themes";
import type { Viewport } from "./fitting";

interface DrawingProps {
  elements: Elements;
  size: SizeMessage;
  viewport: Viewport;
  dismiss: (kind: "overlay" | "panel", id: string) => void;
}

export function Drawing({ elements, size, viewport, dismiss }: DrawingProps) {
  const here = (each: { screen_mode?: string }) => (each.screen_mode ?? "normal") === elements.screen_mode;
  const panels = placed(elements.panels.filter((each) => here(each) && each.visible), size);
  return (
    <>
      {panels.map(({ panel, row }) => (
        <div
          key={panel.id}
          class={`${css.panel} ${elements.focused === panel.id ? css.focused : ""}`}
          role="group"
          aria-label={`Panel drawn by ${panel.owner ?? "an agent"}`}
          data-panel={panel.id}
          style={{ top: px(row * viewport.cellHeight), width: px(size.cols * viewport.cellWidth), height: px(panel.height * viewport.cellHeight) }}
        >
          <Cells element={panel} viewport={viewport} opaque />
          <Label owner={panel.owner} what="panel" below={false} most={panel.height * viewport.cellHeight} close={() => dismiss("panel", panel.id)} />
        </div>
      ))}
      {[...elements.overlays]
        .filter(here)
        .sort((a, b) => a.z - b.z)
        .map((overlay) => (
          <div
            key={overlay.id}
            class={`${css.overlay} ${overlay.background ? css.opaque : ""} ${elements.focused === overlay.id ? css.focused : ""}`}
            role="group"
            aria-label={`Overlay drawn by ${overlay.owner ?? "an agent"}`}
            data-overlay={overlay.id}
            style={{
              left: px(overlay.x * viewport.cellWidth),
              top: px(overlay.y * viewport.cellHeight),
              width: px(Math.max(0, Math.min(overlay.width, size.cols - overlay.x)) * viewport.cellWidth),
              height: px(Math.max(0, Math.min(overlay.height, size.rows - overlay.y)) * viewport.cellHeight),
            }}
          >
            <Cells element={overlay} viewport={viewport} opaque={false} />
            <Label owner={overlay.owner} what="overlay" below={overlay.y * viewport.cellHeight < 18} close={() => dismiss("overlay", overlay.id)} />
          </div>
        ))}
    </>
  );
}

/** Top panels from the edge down, bottom ones from the program down; the highest z first. */
function placed(panels: PanelInfo[], size: SizeMessage): { panel: PanelInfo; row: number }[] {
  const rows = { top: 0, bottom: size.top + size.program_rows };
  return [...panels]
    .sort((a, b) => b.z - a.z)
    .map((panel) => {
      const row = rows[panel.position];
      rows[panel.position] += panel.height;
      return { panel, row };
    });
}

const LABEL_PX = 16;

function Label({ owner, what, below, close, most = LABEL_PX }: { owner: string | null | undefined; what: string; below: boolean; close: () => void; most?: number }) {
  const height = Math.min(LABEL_PX, most);
  return (
    <div class={css.label} data-below={below} style={{ height: px(height), lineHeight: px(height), fontSize: px(height * 0.66) }}>
      <span>{owner ?? "agent"}</span>
      <button type="button" aria-label={`Dismiss this ${what}`} title={`Dismiss this ${what}`} onClick={close}>
        ✕
      </button>
    </div>
  );
}

function Cells({ element, viewport, opaque }: { element: OverlayInfo | PanelInfo; viewport: Viewport; opaque: boolean }) {
  const shown = themes[shownTheme()];
  const theme = themeOn(element.background?.bg, shown);
  const ground = colour(element.background?.bg, theme) ?? (opaque ? theme.background : undefined);
  const { cellWidth, cellHeight, fontSize } = viewport;
  return (
    <div class={css.cells} style={{ background: ground, fontSize: px(fontSize), lineHeight: px(cellHeight), letterSpacing: spacing(fontSize, cellWidth) }}>
      {runsOf(element.spans, element.region_writes ?? []).map((run, index) => (
        <div key={index} style={{ left: px(run.col * cellWidth), top: px(run.row * cellHeight), height: px(cellHeight), ...looks(run.style, ground, theme) }}>
          {pieces(run.text).map((piece, at) =>
            piece.wide ? (
              <span key={at} style={{ display: "inline-block", width: px(2 * cellWidth), overflow: "hidden", verticalAlign: "top" }}>
                {piece.text}
              </span>
            ) : (
              piece.text
            ),
          )}
        </div>
      ))}
    </div>
  );
}

function looks(style: ReturnType<typeof runsOf>[number]["style"], ground: string | undefined, theme: (typeof themes)["dark"]): CSSProperties {
  return {
    color: colour(style.fg, theme) ?? theme.foreground,
    background: colour(style.bg, theme) ?? ground ?? theme.background,
    fontWeight: style.bold ? "bold" : undefined,
    fontStyle: style.italic ? "italic" : undefined,
    textDecoration: style.underline ? "underline" : undefined,
  };
}

/** An agent that chose a dark ground meant light ink, whatever the page's own theme is. */
function themeOn(ground: Colour | undefined, shown: (typeof themes)["dark"]) {
  if (!ground || typeof ground === "string") return shown;
  const light = (0.299 * ground.r + 0.587 * ground.g + 0.114 * ground.b) / 255 > 0.5;
  return light ? themes.light : shown === themes.light ? themes.dark : shown;
}

const measured = new Map<string, number>();
let ruler: CanvasRenderingContext2D | null = null;

/** What to add to each character so that it fills its cell exactly. */
export function spacing(fontSize: number, cellWidth: number): string {
  const key = `${fontSize}`;
  let width = measured.get(key);
  if (width === undefined) {
    ruler ??= document.createElement("canvas").getContext("2d");
    if (!ruler) return "0px";
    ruler.font = `${fontSize}px ${getComputedStyle(document.documentElement).getPropertyValue("--mono")}`;
    width = ruler.measureText("W".repeat(32)).width / 32;
    measured.set(key, width);
  }
  return `${cellWidth - width}px`;
}
