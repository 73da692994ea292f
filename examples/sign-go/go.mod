module shopwire.example/sign

go 1.19
