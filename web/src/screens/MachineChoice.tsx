// Of a hub: some screens show what one machine has.
import { socket } from "../protocol/socket";
import { choose, machine, machines } from "../state/machines";
import css from "./shell.module.css";

export function MachineChoice() {
  const own = !socket.me.value?.user;
  if (machines.value.length + Number(own) < 2) return null;
  return (
    <label class={css.machine}>
      Machine
      <select value={machine.value ?? ""} onChange={(event) => choose(event.currentTarget.value || null)}>
        {own && <option value="">this hub</option>}
        {machines.value.map((each) => (
          <option key={each} value={each}>
            {each}
          </option>
        ))}
      </select>
    </label>
  );
}
