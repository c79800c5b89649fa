// Cards or rows. The choice is a setting of this browser.
import { setPreference, usePreferences } from "@/lib/preferences";
import { environment as texts } from "@/texts/en/environment";
import { Segments } from "@/ui/Segments";
import { looksOf } from "./layout";

export function ViewSwitch({ count }: { count: number }) {
  const { view } = usePreferences();
  return (
    <div className="ml-auto max-md:hidden">
      <Segments
        label={texts.view}
        value={looksOf(view, count)}
        onChange={(value) => setPreference("view", value)}
        segments={[
          { value: "cards", label: texts.views.cards },
          { value: "rows", label: texts.views.rows },
        ]}
      />
    </div>
  );
}
