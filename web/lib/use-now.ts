import { useEffect, useState } from 'react'

const TICK_MS = 1_000

/** The present, every second while something is waited for. */
export function useNow(isOn = true): number {
  const [now, setNow] = useState(Date.now)
  useEffect(() => {
    if (!isOn) return
    const timer = setInterval(() => setNow(Date.now()), TICK_MS)
    return () => clearInterval(timer)
  }, [isOn])
  return now
}
