import { type MantineColorScheme, Menu, useMantineColorScheme } from '@mantine/core'
import { IconCheck, IconDeviceDesktop, IconMoon, IconSun } from '@tabler/icons-react'
import { words } from '../words.ts'

export const themeChoices = [
  ['light', words.themes.light, IconSun],
  ['dark', words.themes.dark, IconMoon],
  ['auto', words.themes.auto, IconDeviceDesktop],
] as const satisfies readonly (readonly [MantineColorScheme, string, typeof IconSun])[]

/** Without `keepTransitions`, Mantine writes a style element for a moment, which the policy refuses. */
export const useTheme = () => useMantineColorScheme({ keepTransitions: true })

export function ThemeItems() {
  const { colorScheme, setColorScheme } = useTheme()
  return themeChoices.map(([value, label, Icon]) => (
    <Menu.Item
      key={value}
      closeMenuOnClick={false}
      leftSection={<Icon size={14} aria-hidden />}
      rightSection={colorScheme === value ? <IconCheck size={14} aria-label="Chosen" /> : undefined}
      onClick={() => setColorScheme(value)}
    >
      {label}
    </Menu.Item>
  ))
}
