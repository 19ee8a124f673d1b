/** Two prompts, one line. */
export const Logo = () => (
  <svg viewBox="0 0 32 32" fill="none" stroke-width="3.4" stroke-linecap="round" stroke-linejoin="round" aria-hidden="true">
    <path d="M4 8l8 8-8 8" stroke="var(--accent)" />
    <path d="M14 8l8 8-8 8" stroke="var(--wait)" />
    <path d="M25 24h4" stroke="currentColor" />
  </svg>
);
