// Organization Settings > Failure analysis: the model that explains failures, where it gets text from us, and its limits.
import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { useState, type ReactNode } from "react";
import { analysisSettingsQuery } from "@/api/analysisSettings";
import { Problem } from "@/api/problem";
import { ProblemPanel } from "@/features/problem";
import { useTitle } from "@/lib/favicon";
import { settings as texts } from "@/texts/en/analysisSettings";
import { PageHead } from "@/ui/Page";
import { SkeletonRows } from "@/ui/Skeleton";
import { SettingsForm } from "./SettingsForm";
import { Standing } from "./Standing";
import { WhatIsSent } from "./WhatIsSent";

export function SettingsPage(): ReactNode {
  const { org } = useParams({ from: "/o/$org/settings/analysis" });
  useTitle(texts.title, org);
  // The key of the form. The form keeps what was entered while the settings are read again; another key makes React create it
  // again, with the current settings.
  const [version, setVersion] = useState(0);
  const settings = useQuery(analysisSettingsQuery(org));
  // The server refuses everyone but admins, with a text that names the role.
  const isRefused = settings.error instanceof Problem && settings.error.kind === "refused";
  return (
    <div className="max-w-[640px]">
      <PageHead title={texts.title} />
      <p className="mb-4 max-w-prose text-ink2">{texts.intro}</p>
      {settings.isPending && <SkeletonRows />}
      {settings.error && !settings.data && (
        <ProblemPanel error={settings.error} onRetry={isRefused ? undefined : () => void settings.refetch()} />
      )}
      {settings.data && (
        <>
          <Standing settings={settings.data} />
          <SettingsForm key={version} org={org} settings={settings.data} onRestart={() => setVersion(version + 1)} />
          <WhatIsSent />
        </>
      )}
    </div>
  );
}
