/** The sign of the product. */
export const Mark = ({ size = 22 }: { readonly size?: number }) => (
  <svg viewBox="0 0 22 22" width={size} height={size} aria-hidden>
    <rect width="22" height="22" rx="5.5" fill="var(--sw-ink)" />
    <path
      d="M5.5 14.2c3.4 0 4.2-1 5.5-3.2s2.1-3.2 5.5-3.2"
      fill="none"
      stroke="var(--sw-canvas)"
      strokeWidth="2"
      strokeLinecap="round"
    />
  </svg>
)
