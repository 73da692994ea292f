export const roles = { owner: 'Owner', developer: 'Developer', finance: 'Finance', viewer: 'Viewer' } as const

export const noPermission = {
  body: (role: string) => `You are signed in as ${role}. An Owner can change your role on the Team page.`,
  action: 'See the team',
} as const
