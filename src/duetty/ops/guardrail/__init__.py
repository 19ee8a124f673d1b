"""From a call, or a line that is typed, to what may become of it: judged, asked about, recorded."""
