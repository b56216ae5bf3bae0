package main

import (
	"runtime/debug"

	"github.com/spf13/cobra"
)

// verbs is the explicit list of what rackproof can do, in the order of --help.
func verbs(a *app) []*cobra.Command {
	return []*cobra.Command{
		demoCommand(a),
		discoverCommand(a),
		intakeCommand(a),
		arrivalCommand(a),
		planCommand(a),
		runCommand(a),
		statusCommand(a),
		watchCommand(a),
		auditCommand(a),
		resumeCommand(a),
		cancelCommand(a),
		stopCommand(a),
		handsCommand(a),
		doneCommand(a),
		retestCommand(a),
		rebindCommand(a),
		burninCommand(a),
		captureCommand(a),
		judgeCommand(a),
		reportCommand(a),
		bmcCommand(a),
		profileCommand(a),
		explainCommand(a),
		simCommand(a),
		workerCommand(a),
		versionCommand(a),
	}
}

// version is what `rackproof version` prints and every record carries; the
// release build sets it.
var version = ""

func versionString() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "devel"
}

func versionCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Long:  "Print the version.\n\nExample:\n  rackproof version\n\n" + exitHelp,
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if a.json {
				return a.printJSON(map[string]string{"version": versionString()})
			}
			a.printf("%s\n", versionString())
			return nil
		},
	}
}
