package burnin

// nvidia writes a row for every GPU.
func (t *telemetry) nvidia(base TelemetryRow, log *NvidiaLog) {
	for _, part := range t.gpus {
		g := log.find(part)
		if g == nil {
			continue
		}
		r := base.of(part.Part)
		r.Lost = g.Lost
		r.ClockSM, r.ClockMemory, r.Utilisation = figure(g.SMClock), figure(g.MemoryClock), figure(g.Utilisation)
		r.Temperature, r.MemoryTemp, r.Margin = figure(g.Temperature), figure(g.MemoryTemperature), figure(g.Margin)
		r.Power, r.PowerLimit = figure(g.PowerDraw), figure(g.PowerLimit)
		r.LinkGen, r.LinkWidth, r.ECCUncorrected = figure(g.LinkGen), figure(g.LinkWidth), figure(g.UncorrectedTotal)
		if g.Reasons.Set {
			names := append([]string{}, reasonNames(g.Reasons.V, t.reasons)...)
			r.Reasons = &names
		}
		t.write(r)
	}
}

// pci writes the link of every hop, the temperature of every drive, the ports of every
// adapter and what root ports were told of, where they changed.
func (t *telemetry) pci(base TelemetryRow, tree *PCITree) {
	for i := range tree.Devices {
		d := &tree.Devices[i]
		owner, known := t.owners[d.Address]
		if !known {
			continue
		}
		r := base.of(owner)
		r.Lost = d.Dead
		if d.Dead == "" && d.Link != (PCILink{}) {
			width := float64(d.Link.Width)
			r.LinkSpeed, r.LinkWidth = &d.Link.Speed, &width
		}
		for _, drive := range d.Drives {
			r.Temperature, r.State = figure(drive.Temperature), drive.State
		}
		r.AERCorrectable, r.AERNonFatal, r.AERFatal = figure(d.Told["correctable"]), figure(d.Told["nonfatal"]), figure(d.Told["fatal"])
		t.news(d.Address, r)
		for _, port := range d.NetDevs {
			r := base.of(owner)
			r.Part = "NIC port " + port.Name
			r.LinkState, r.LinkSpeedMb, r.LinkDowns = port.State, figure(port.Speed), figure(port.Downs)
			t.news(d.Address+" "+port.Name, r)
		}
	}
}

// memory writes the counters of every place where they changed.
func (t *telemetry) memory(base TelemetryRow, counters EDACCounters) {
	for _, place := range counters.Places {
		r := base.of(dimmPart(place.Name(), ""))
		r.ECCCorrected, r.ECCUncorrected = figure(place.Corrected), figure(place.Uncorrected)
		t.news("edac "+place.ID, r)
	}
}

// sensors writes a row for every sensor that measures, and for the state of every other
// where it changed.
func (t *telemetry) sensors(base TelemetryRow, set SensorSet) {
	base.Boot = "" // a BMC does not tell of which boot of the host it is
	for key, s := range keyed(set.Sensors) {
		r := base
		r.Part, r.Serial, r.Health, r.State = s.Name, s.Serial, s.Health, s.State
		if field := r.figureOf(s); field != nil && s.Reading.Set {
			*field = &s.Reading.V
			t.write(r)
			continue
		}
		if len(s.States) > 0 {
			r.Text = list(s.States)
		}
		t.news("bmc "+key, r)
	}
}

// figureOf is where the reading of a sensor goes, nil where it has no place.
func (r *TelemetryRow) figureOf(s BMCSensor) **float64 {
	switch {
	case s.Kind == sensorTemperature:
		return &r.Temperature
	case s.Kind == sensorFan && s.Unit == "%":
		return &r.FanDuty
	case s.Kind == sensorFan:
		return &r.Fan
	case s.Kind == sensorPower:
		return &r.Power
	case s.Kind == sensorVoltage:
		return &r.Voltage
	case s.Kind == sensorCurrent:
		return &r.Current
	}
	return nil
}

// events writes the XIDs of the kernel's log, which tells them in seconds since boot.
func (t *telemetry) events() {
	readings := phaseReadings(t.read, KernelLog)
	for _, e := range xidEvents(readings) {
		owner, known := t.owners[e.Address]
		if !known {
			owner = Part{Name: "GPU " + e.Address, Address: e.Address}
		}
		r := TelemetryRow{From: KernelLog.Spec.Name}.of(owner)
		r.XID, r.Uptime, r.Text = &e.Code, &e.Time, e.Text
		t.write(r)
	}
}
