import { useEffect, useState } from 'react'

/** Under this a placeholder would only flicker. */
const DELAY_MS = 200

/** True once the condition has lasted for 200 ms. */
export function useDelayed(isOn: boolean, delayMs = DELAY_MS): boolean {
  const [isDue, setDue] = useState(false)
  useEffect(() => {
    if (!isOn) return setDue(false)
    const timer = setTimeout(() => setDue(true), delayMs)
    return () => clearTimeout(timer)
  }, [isOn, delayMs])
  return isOn && isDue
}
