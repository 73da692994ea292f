import {
  type CSSVariablesResolver,
  createTheme,
  defaultVariantColorsResolver,
  type MantineColorsTuple,
  type VariantColorsResolver,
} from '@mantine/core'
import { css, cssName, fonts, shades, shadows, textCss, textSizes, tokens } from '@shopwire/look'

type Scheme = 0 | 1

/** Mantine's own components read these variables, so they are the tokens too. */
const variablesOf = (scheme: Scheme): Record<`--${string}`, string> => ({
  ...Object.fromEntries(Object.entries(tokens).map(([token, values]) => [cssName(token), values[scheme]])),
  '--mantine-color-body': tokens.canvas[scheme],
  '--mantine-color-text': tokens.ink[scheme],
  '--mantine-color-bright': tokens.ink[scheme],
  '--mantine-color-dimmed': tokens.ink3[scheme],
  '--mantine-color-default': tokens.raised[scheme],
  '--mantine-color-default-hover': tokens.hover[scheme],
  '--mantine-color-default-border': tokens.lineStrong[scheme],
  '--mantine-color-default-color': tokens.ink[scheme],
  '--mantine-color-anchor': tokens.accent[scheme],
  '--mantine-color-error': tokens.bad[scheme],
  '--mantine-color-placeholder': tokens.ink3[scheme],
})

export const cssVariablesResolver: CSSVariablesResolver = () => ({
  variables: Object.fromEntries(
    Object.keys(textSizes).map((size) => [`--sw-text-${size}`, px(size as keyof typeof textSizes)]),
  ),
  light: variablesOf(0),
  dark: variablesOf(1),
})

/** Filled buttons are ink, and `bad` where they destroy: an accent-coloured button would say "link". */
const variantColorResolver: VariantColorsResolver = (input) => {
  const base = defaultVariantColorsResolver(input)
  const isBad = input.color === 'red'
  if (input.variant === 'filled') {
    const background = css(isBad ? 'bad' : 'ink')
    return {
      ...base,
      background,
      hover: isBad ? background : css('ink2'),
      color: css('canvas'),
      border: '1px solid transparent',
    }
  }
  if (input.variant === 'subtle') {
    return { ...base, background: 'transparent', hover: css('hover'), color: css(isBad ? 'bad' : 'ink2') }
  }
  return base
}

const tuple = (values: readonly string[]) => values as unknown as MantineColorsTuple
const px = (size: keyof typeof textSizes) => `${textSizes[size][0]}px`
const line = (size: keyof typeof textSizes) => `${textSizes[size][1]}px`
const floating = { background: css('raised'), border: `1px solid ${css('line')}` }
const control = { size: 'xs' }
const field = {
  label: { fontSize: textCss('body'), fontWeight: 500, marginBottom: 6 },
  input: { fontSize: textCss('body'), height: 32, minHeight: 32 },
  description: { fontSize: textCss('meta'), lineHeight: '16px', color: css('ink3') },
  error: { fontSize: textCss('meta') },
}

export const theme = createTheme({
  fontFamily: fonts.words,
  fontFamilyMonospace: fonts.code,
  headings: {
    fontFamily: fonts.words,
    fontWeight: '600',
    sizes: {
      h1: { fontSize: px('title'), lineHeight: line('title') },
      h2: { fontSize: px('section'), lineHeight: line('section') },
      h3: { fontSize: px('body'), lineHeight: line('body') },
    },
  },
  fontSizes: { xs: px('meta'), sm: px('body'), md: px('section'), lg: px('lead'), xl: px('title') },
  lineHeights: {
    xs: line('meta'),
    sm: line('body'),
    md: line('section'),
    lg: line('lead'),
    xl: line('title'),
  },
  spacing: { xs: '8px', sm: '12px', md: '16px', lg: '24px', xl: '32px' },
  radius: { xs: '4px', sm: '6px', md: '8px', lg: '10px', xl: '12px' },
  shadows: {
    md: shadows.floating,
    xl: shadows.dialog,
  },
  breakpoints: { xs: '30em', sm: '47.5em', md: '62em', lg: '75em', xl: '88em' },
  defaultRadius: 'sm',
  cursorType: 'pointer',
  focusRing: 'auto',
  respectReducedMotion: true,
  primaryColor: 'accent',
  primaryShade: { light: 7, dark: 3 },
  colors: {
    accent: tuple(shades.accent),
    gray: tuple(shades.gray),
    dark: tuple(shades.dark),
  },
  variantColorResolver,
  components: {
    Button: {
      defaultProps: { size: 'xs', variant: 'default' },
      styles: { root: { fontWeight: 500 } },
      vars: (_: unknown, props: { readonly size?: string }) => ({
        root: {
          '--button-fz': textCss('body'),
          '--button-height': props.size?.startsWith('compact') ? '24px' : '32px',
        },
      }),
    },
    ActionIcon: { defaultProps: { size: 28, variant: 'subtle' } },
    TextInput: { defaultProps: control, styles: field },
    PasswordInput: {
      defaultProps: control,
      styles: { ...field, innerInput: { fontSize: textCss('body'), height: 30 } },
    },
    NumberInput: { defaultProps: control, styles: field },
    Textarea: { defaultProps: control, styles: { ...field, input: { fontSize: textCss('body') } } },
    Select: { defaultProps: { ...control, allowDeselect: false, checkIconPosition: 'right' }, styles: field },
    Checkbox: {
      defaultProps: { ...control, radius: 'xs', iconColor: css('canvas') },
      styles: { inner: { marginTop: 2 }, label: { fontSize: textCss('body'), lineHeight: '20px' } },
    },
    Radio: {
      defaultProps: { ...control, iconColor: css('canvas') },
      styles: {
        inner: { marginTop: 2 },
        label: { fontSize: textCss('body'), lineHeight: '20px' },
        description: { fontSize: textCss('meta'), lineHeight: '16px', marginTop: 0, color: css('ink3') },
      },
    },
    Switch: {
      defaultProps: { size: 'sm' },
      styles: { label: { fontSize: textCss('body'), lineHeight: '20px' } },
    },
    Table: { defaultProps: { verticalSpacing: 0, horizontalSpacing: 'sm', fz: 'sm' } },
    // Softer than Mantine's: it marks a place, it is not content.
    Skeleton: { classNames: { root: 'sw-skeleton' } },
    Tabs: { vars: () => ({ root: { '--tabs-color': css('ink') } }) },
    Tooltip: {
      defaultProps: {
        openDelay: 300,
        fz: 'xs',
        withArrow: false,
        events: { hover: true, focus: true, touch: true },
      },
    },
    Menu: {
      defaultProps: {
        withInitialFocusPlaceholder: false,
        shadow: 'md',
        position: 'bottom-end',
        transitionProps: { duration: 0 },
      },
      styles: { dropdown: floating, item: { fontSize: textCss('body') }, label: { fontWeight: 400 } },
    },
    Popover: {
      defaultProps: { shadow: 'md', transitionProps: { duration: 0 } },
      styles: { dropdown: floating },
    },
    Combobox: { styles: { dropdown: floating, option: { fontSize: textCss('body') } } },
    Modal: {
      defaultProps: {
        radius: 'lg',
        shadow: 'xl',
        centered: true,
        overlayProps: { color: css('veil'), backgroundOpacity: 1 },
        transitionProps: { duration: 120 },
        // Its scroll bar handling writes a style element, which the policy refuses.
        removeScrollProps: { removeScrollBar: false },
        closeButtonProps: { 'aria-label': 'Close' },
      },
      styles: {
        content: floating,
        header: { background: css('raised') },
        title: {
          minWidth: 0,
          fontSize: textCss('lead'),
          lineHeight: '24px',
          fontWeight: 600,
          overflowWrap: 'anywhere',
        },
      },
    },
    SpotlightRoot: {
      defaultProps: {
        radius: 'lg',
        overlayProps: { color: css('veil'), backgroundOpacity: 1, blur: 0 },
        removeScrollProps: { removeScrollBar: false },
      },
    },
    Spotlight: { styles: { content: floating } },
    Notification: {
      defaultProps: { closeButtonProps: { 'aria-label': 'Close' } },
      styles: {
        root: { background: css('raised'), borderColor: css('line'), padding: '12px 12px 12px 16px' },
        icon: { width: 18, height: 18, marginInlineEnd: 12, alignSelf: 'flex-start', marginTop: 1 },
        title: { fontSize: textCss('body'), lineHeight: '20px', marginBottom: 0, color: css('ink') },
        description: { fontSize: textCss('meta'), lineHeight: '16px', color: css('ink3') },
      },
    },
    DrawerRoot: { defaultProps: { removeScrollProps: { removeScrollBar: false } } },
    DrawerOverlay: { defaultProps: { color: css('veil'), backgroundOpacity: 1 } },
    Drawer: { styles: { content: { background: css('rail') } } },
  },
})
