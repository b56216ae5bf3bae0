package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"github.com/rackproof/rackproof/provision/netboot"
)

func main() {
	s := &netboot.Server{Addr: "10.77.0.1:8080", Images: os.Args[1], State: "/tmp/lc/nb.json", Log: slog.Default()}
	if err := s.Start(context.Background()); err != nil { panic(err) }
	pub, _ := os.ReadFile("/tmp/lc/id.pub")
	t, err := s.Ticket("lab1", 1, os.Args[2], string(pub))
	if err != nil { panic(err) }
	os.WriteFile("/tmp/lc/boot.ipxe", []byte("#!ipxe\nchain http://10.77.0.1:8080/b/"+t.Token+"/boot.ipxe\n"), 0o644)
	fmt.Println(t.Token)
	select {}
}
