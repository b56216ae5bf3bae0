package nodetest

import (
	"encoding/json"
	"fmt"
	"strings"
)

// spareThreshold is the per cent of spare blocks below which a drive of this
// model says that it is worn.
const spareThreshold = 10

func jsonPage(v any) string {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err.Error()
	}
	return string(b) + "\n"
}

func (s *system) drive(dev string) *Drive {
	dev = strings.TrimPrefix(dev, "/dev/")
	for i := range s.M.Drives {
		if d := &s.M.Drives[i]; dev == d.Name || strings.HasPrefix(dev, d.Name+"n") {
			return d
		}
	}
	return nil
}

// celsius is a drive's composite temperature.
func (s *system) celsius(d *Drive) int {
	return 33 + d.Bay%3 + int(min(8, s.Load.Seconds()/2))
}

// warning is the bit field critical_warning: bit 0, spare below the threshold.
func (d *Drive) warning() int {
	if d.Spare < spareThreshold {
		return 1
	}
	return 0
}

// nvmeSmart answers `nvme smart-log /dev/nvmeN -o json`; temperatures are kelvin.
func (s *system) nvmeSmart(d *Drive) string {
	return jsonPage(map[string]any{
		"critical_warning": d.warning(), "temperature": s.celsius(d) + 273, "avail_spare": d.Spare, "spare_thresh": spareThreshold,
		"percent_used": d.Used, "endurance_grp_critical_warning_summary": 0,
		"data_units_read": d.UnitsWritten / 2, "data_units_written": d.UnitsWritten,
		"host_read_commands": d.UnitsWritten * 11, "host_write_commands": d.UnitsWritten * 9, "controller_busy_time": d.PowerOnHours / 3,
		"power_cycles": 11 + d.Bay, "power_on_hours": d.PowerOnHours, "unsafe_shutdowns": 4, "media_errors": 0, "num_err_log_entries": 0,
		"warning_temp_time": 0, "critical_comp_time": 0, "temperature_sensor_1": s.celsius(d) + 273,
	})
}

// nvmeList answers `nvme list -o json` of nvme-cli 2.
func (s *system) nvmeList() string {
	list := make([]map[string]any, 0, len(s.M.Drives))
	for i := range s.M.Drives {
		d := &s.M.Drives[i]
		list = append(list, map[string]any{
			"NameSpace": 1, "DevicePath": "/dev/" + d.Name + "n1", "GenericPath": fmt.Sprintf("/dev/ng%dn1", i),
			"Firmware": d.Version, "ModelNumber": d.Model, "SerialNumber": d.Serial,
			"UsedBytes": 0, "MaximumLBA": d.Bytes / 512, "PhysicalSize": d.Bytes, "SectorSize": 512,
		})
	}
	return jsonPage(map[string]any{"Devices": list})
}

// smartctl answers `smartctl -a -j /dev/nvmeN`: exit bit 3 is "disk failing".
func (s *system) smartctl(d *Drive) reply {
	exit := 0
	if d.warning() != 0 {
		exit = 8
	}
	return reply{exit: exit, out: jsonPage(map[string]any{
		"json_format_version": []int{1, 0},
		"smartctl": map[string]any{
			"version": []int{7, 4}, "platform_info": "x86_64-linux-" + kernelRelease, "build_info": "(simulated)",
			"argv": []string{"smartctl", "-a", "-j", "/dev/" + d.Name}, "exit_status": exit,
		},
		"device":     map[string]any{"name": "/dev/" + d.Name, "info_name": "/dev/" + d.Name, "type": "nvme", "protocol": "NVMe"},
		"model_name": d.Model, "serial_number": d.Serial, "firmware_version": d.Version,
		"nvme_total_capacity": d.Bytes, "nvme_unallocated_capacity": 0, "nvme_controller_id": 6, "nvme_number_of_namespaces": 32,
		"user_capacity": map[string]any{"blocks": d.Bytes / 512, "bytes": d.Bytes}, "logical_block_size": 512,
		"smart_status": map[string]any{"passed": exit == 0, "nvme": map[string]any{"value": d.warning()}},
		"nvme_smart_health_information_log": map[string]any{
			"critical_warning": d.warning(), "temperature": s.celsius(d), "available_spare": d.Spare, "available_spare_threshold": spareThreshold,
			"percentage_used": d.Used, "data_units_read": d.UnitsWritten / 2, "data_units_written": d.UnitsWritten,
			"host_reads": d.UnitsWritten * 11, "host_writes": d.UnitsWritten * 9, "controller_busy_time": d.PowerOnHours / 3,
			"power_cycles": 11 + d.Bay, "power_on_hours": d.PowerOnHours, "unsafe_shutdowns": 4, "media_errors": 0, "num_err_log_entries": 0,
			"warning_temp_time": 0, "critical_comp_time": 0, "temperature_sensors": []int{s.celsius(d)},
		},
		"temperature": map[string]any{"current": s.celsius(d)}, "power_cycle_count": 11 + d.Bay, "power_on_time": map[string]any{"hours": d.PowerOnHours},
	})}
}

// lsblk answers `lsblk -J -b` with the columns that disks are told by.
func (s *system) lsblk() string {
	devices := make([]map[string]any, 0, len(s.M.Drives))
	for i := range s.M.Drives {
		d := &s.M.Drives[i]
		devices = append(devices, map[string]any{
			"name": d.Name + "n1", "kname": d.Name + "n1", "path": "/dev/" + d.Name + "n1", "maj:min": fmt.Sprintf("259:%d", i),
			"rm": false, "size": d.Bytes, "ro": false, "rota": false, "type": "disk", "mountpoint": nil, "mountpoints": []any{nil},
			"fstype": nil, "label": nil, "uuid": nil, "parttype": nil, "pttype": nil, "model": d.Model, "serial": d.Serial, "rev": d.Version,
			"vendor": nil, "tran": "nvme", "wwn": "eui." + strings.ToLower(d.Serial), "state": "live", "phy-sec": 512, "log-sec": 512,
		})
	}
	return jsonPage(map[string]any{"blockdevices": devices})
}

// fio answers the load that reads every drive, with one job a drive.
func (s *system) fio(u *unit) string {
	jobs := make([]map[string]any, 0, len(s.M.Drives))
	for i := range s.M.Drives {
		d := &s.M.Drives[i]
		reads := int64(u.length.Seconds()) * driveLoad / (128 << 10)
		jobs = append(jobs, map[string]any{
			"jobname": d.Name + "n1", "groupid": 0, "error": 0, "job options": map[string]string{"name": d.Name + "n1", "filename": "/dev/" + d.Name + "n1"},
			"read": map[string]any{
				"bw_bytes": driveLoad, "bw": driveLoad / 1024, "iops": float64(driveLoad) / (128 << 10), "total_ios": reads, "runtime": u.length.Milliseconds(),
				"clat_ns": map[string]any{"percentile": map[string]int64{"99.000000": 1_650_000 + int64(d.Bay)*10_000}},
			},
		})
	}
	return jsonPage(map[string]any{"fio version": "fio-3.36", "time": "simulated", "global options": map[string]string{"rw": "randread"}, "jobs": jobs})
}

// gdscheck answers `gdscheck -p`.
func (s *system) gdscheck() string {
	return page("gdscheck.tmpl", struct {
		*system
		Direct bool
		Kernel string
	}{s, s.M.GDS == "nvfs", kernelRelease})
}
